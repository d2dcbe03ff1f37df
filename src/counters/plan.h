#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/key.h"
#include "events/table.h"
#include "metrics/evaluate.h"
#include "record/record.h"

namespace tmaprobe::counters {

/// An event to be opened, with the spellings by which expressions know it.
struct PlannedEvent {
    std::string name;  ///< as the expression spells it
    events::EventDefinition definition;
    bool metric_only = false;  ///< topdown-*: needs slots as its group's leader
    /// Set by make_plan, once for all repetitions, intervals and cores: what it counts, and its encoding as the record
    /// has it.
    std::optional<events::EventKey> key{};
    std::string config{};
};

/// The record's entry of a planned event, without a count.
record::Event describe(const PlannedEvent& event);

/// Events that are scheduled together: one leader, all on one PMU.
struct EventGroup {
    std::string pmu;
    std::vector<PlannedEvent> events;
};

/// Groups that are counted in the same run of the workload. Without multiplexing all of them fit the PMU.
struct Pass {
    std::vector<EventGroup> groups;
};

enum class Policy {
    passes,     ///< as many runs as needed, nothing multiplexed
    multiplex,  ///< one run, the kernel rotates the groups
};

/// What the PMU can hold at once; probed, not assumed.
struct PmuLimits {
    std::string pmu = "cpu";
    int general_counters = 4;         ///< free for us now (a watchdog's counter is taken off)
    int taken_counters = 0;           ///< general-purpose and fixed ones that exist and somebody else holds now
    int fixed_counters = 0;           ///< that events of the table name
    std::vector<int> fixed_taken;     ///< numbers of fixed counters that somebody else holds (a watchdog)
    bool has_slots = false;           ///< slots and the four level-1 topdown events
    bool has_level2_metrics = false;  ///< topdown-heavy-ops and its three siblings
};

/// A metric whose events do not all count at the same time.
struct SplitMetric {
    std::string name;
    std::size_t parts = 2;  ///< runs, or groups that take turns
};

/// What to count: decided from the metrics asked for and the PMU found.
struct Plan {
    Policy policy = Policy::passes;
    std::vector<Pass> passes;
    std::vector<SplitMetric> split;
    std::vector<PlannedEvent> latencies;  ///< "EVENT:R" of the formulas, each once: sampled, never counted
    std::vector<record::Warning> notes;   ///< what else is to be said
    int level = 1;
    bool user = true, kernel = false;  ///< which privilege levels count
};

/// Whose events are counted.
struct Scope {
    enum class Kind { this_thread, command, process, cpus } kind = Kind::this_thread;
    pid_t pid = 0;          ///< process
    std::vector<int> cpus;  ///< cpus
};

/// Groups and passes for the wanted metrics and further events.
///
/// Each metric's events share a group where they fit, and metrics of one level of the tree share groups
/// where they fit together, so that a level is one picture of one run. Which groups a metric has follows
/// from the table and the limits alone, never from what else is asked for: adding a metric changes no
/// other's groups. topdown-* events have slots as their leader in a group of their own (some kernels
/// group them wrongly with others); its metrics' other events count beside it in the same pass.
/// A metric whose events cannot be counted at once is among Plan::split. Passes between which a metric is
/// split count cycles and instructions besides where counters are left, so that they can be compared.
///
/// No event is opened twice in one run whose events all count all the time: a later group leaves out what an
/// earlier one has. Where all fit the PMU at once, that holds for multiplexing too: nothing takes turns.
///
/// Events that are not counters of a core PMU (software, uncore, tool) are in groups of their own.
/// No limits: a PMU of four general-purpose counters is assumed.
/// Errors: as metrics::events_needed and events::resolve.
Result<Plan> make_plan(const events::Table& table, const std::vector<std::string>& metrics,
                       const std::vector<PlannedEvent>& further_events, const std::vector<PmuLimits>& limits,
                       const metrics::Constants& constants, Policy policy);

/// Those of the metrics whose every event can get a counter now, one at a time. None of a tree's, where somebody
/// else holds the counters. Errors: as make_plan.
Result<std::vector<std::string>> countable(const events::Table& table, const std::vector<std::string>& metrics,
                                           const std::vector<PmuLimits>& limits, const metrics::Constants& constants);

/// What is to be said of metrics that are split; nothing where none is.
std::optional<record::Warning> split_warning(const std::vector<SplitMetric>& split, Policy policy);

}  // namespace tmaprobe::counters
