#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "counters/perf/bounds.h"
#include "counters/perf/counter_set.h"
#include "counters/perf/reading.h"
#include "counters/perf/residency.h"
#include "counters/source.h"

namespace tmaprobe::counters::perf {

/// Where a pass stands in its plan, for the record.
struct PassPlace {
    int pass = 0;
    int first_group = 0;  ///< groups are numbered over the whole plan
};

/// One measurement's raw counts, before and after.
struct Span {
    const std::vector<RawCount>* before = nullptr;
    const std::vector<RawCount>* after = nullptr;
    Bracketing bracketing = Bracketing::started_and_stopped;
    std::uint64_t elapsed_ns = 0;
    std::uint64_t enabled_before_ns = 0;  ///< see judge()
};

/// The record's events of one span of a pass: every planned event appears, with a note where it could not
/// be opened or counted ("other_cores": nothing of what was counted ran on this PMU's cores, which is no
/// fault). Hybrid events are scaled to their residency only, never to the whole time: their
/// time_enabled is the residency.
std::vector<record::Event> collect(const Pass& pass, const PassPlace& place, const Layout& layout, const Span& span,
                                   const Residency& residency);

/// The same for each CPU by itself, where CPUs were named to be opened on; none elsewhere.
std::map<int, std::vector<record::Event>> collect_by_cpu(const Pass& pass, const PassPlace& place, const Layout& layout,
                                                         const Span& span);

/// The same for each thread by itself, where threads were named.
std::map<int, std::vector<record::Event>> collect_by_thread(const Pass& pass, const PassPlace& place,
                                                            const Layout& layout, const Span& span);

/// The same for each of these groups of threads, where threads were named; a thread may be in several.
std::map<int, std::vector<record::Event>> collect_by_group(const Pass& pass, const PassPlace& place,
                                                           const Layout& layout, const Span& span,
                                                           const std::vector<std::set<pid_t>>& groups);

/// How counters are shared.
struct Sharing {
    double rotation_ns = 0;          ///< after which others have their turn
    bool in_turns = false;           ///< by us: then a long gap is no sign of another user
    std::size_t further_groups = 0;  ///< that take turns with those that are counted: events that are sampled
};

/// Sets low and high of every event that was counted part of the time. `spreads` has one entry per event,
/// or none.
void set_bounds(std::vector<record::Event>& events, std::span<const RateSpread> spreads, double window_ns,
                const Sharing& sharing);

/// Notes "not_implemented" for common events of an Arm PMU that count 0 and are not among those that it lists (see
/// machine::listed_common_events; none listed: nothing is noted).
void note_unimplemented(std::vector<record::Event>& events, const std::set<std::uint64_t>& listed);

/// Adds one window's rates; `spreads` is sized on the first call.
void add_rates(std::vector<RateSpread>& spreads, const std::vector<record::Event>& window);

/// Warnings that follow from a pass's events: not scheduled, multiplexed against the plan, failed reads.
std::vector<record::Warning> warnings_of(const std::vector<record::Event>& events, Policy policy);

}  // namespace tmaprobe::counters::perf
