#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/plan.h"

namespace tmaprobe::counters {

/// Events that count at the same time: at most one topdown group (slots and its metrics) and one group of
/// ordinary events beside it.
struct Bundle {
    std::string pmu;
    std::vector<PlannedEvent> topdown;  ///< slots first; empty: none
    std::vector<PlannedEvent> ordinary;
    bool by_name = false;  ///< one event that the user named: shown under that name, whatever else counts it
};

/// All events of a bundle, as the PMU sees them.
std::vector<PlannedEvent> all_events(const Bundle& bundle);

/// Where the metrics of one table are counted on a PMU of given limits. Homes are found level by level
/// over the whole table, so that a metric's home never depends on what is asked for. Metrics of translation
/// share groups in the same way, and so do the basic ones below an own tree: they are asked for together.
class MetricPlacement {
  public:
    MetricPlacement(const events::Table& table, const std::vector<PmuLimits>& limits,
                    const metrics::Constants& constants);

    /// The bundles that hold a metric's events between them, by number. More than one: they do not fit
    /// at once. Errors: as metrics::events_needed and events::resolve.
    Result<std::vector<std::size_t>> bundles_of(const std::string& metric);

    const Bundle& bundle(std::size_t number) const { return bundles_[number]; }
    /// The limits of a PMU ("" = the first core PMU).
    const PmuLimits& limits_of(const std::string& pmu) const;
    /// Events that the metrics asked for so far need beside counters (software, uncore, tool).
    const std::vector<PlannedEvent>& events_beside() const { return beside_; }

    /// A spelling as an event of this machine's PMUs. Errors: as events::resolve.
    Result<PlannedEvent> plan_event(const std::string& spelling) const;
    /// The event with this machine's name of its PMU.
    PlannedEvent adopt(PlannedEvent event) const;
    /// A bundle of this event alone (topdown-* with its leader).
    std::size_t add_alone(const PlannedEvent& event);
    /// Whether the event needs a counter of a core PMU.
    bool uses_counters(const PlannedEvent& event) const;

  private:
    using Inputs = std::vector<PlannedEvent>;
    Result<Inputs> inputs_of(const std::string& metric);
    void settle_level(int level);
    void settle_family(const std::string& family);
    Result<std::vector<std::size_t>> settle(const std::string& metric, std::vector<std::size_t>& shared,
                                            const std::vector<std::size_t>& earlier);
    std::vector<std::size_t> spread(const std::string& pmu, Inputs inputs, std::vector<std::size_t>& shared,
                                    const std::vector<std::size_t>& earlier);
    const std::vector<PlannedEvent>& topdown_of(const std::string& pmu);
    bool try_add(Bundle& bundle, const Inputs& inputs);
    bool fits_alone(const std::string& metric);

    const events::Table& table_;
    std::vector<PmuLimits> limits_;
    const metrics::Constants& constants_;
    std::vector<Bundle> bundles_;
    std::map<std::string, std::vector<std::size_t>> homes_;
    std::map<std::string, std::vector<PlannedEvent>> topdown_;  ///< by PMU
    std::map<std::string, Inputs> inputs_;                      ///< by metric, as far as asked
    std::set<int> settled_levels_;
    std::set<std::string> settled_families_;
    std::vector<std::size_t> tree_;  ///< bundles of the levels settled so far
    std::vector<PlannedEvent> beside_;
};

}  // namespace tmaprobe::counters
