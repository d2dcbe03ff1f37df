#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "counters/perf/bounds.h"
#include "counters/perf/counter_set.h"
#include "counters/perf/reading.h"
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
};

/// Nanoseconds that the counted threads spent on each hybrid PMU's cores; empty on other machines.
using Residency = std::map<std::string, std::uint64_t>;

/// The record's events of one span of a pass: every planned event appears, with a note where it could not
/// be opened or counted. Hybrid events are scaled to their residency only, never to the whole time: their
/// time_enabled is the residency.
std::vector<record::Event> collect(const Pass& pass, const PassPlace& place, const CounterSet& set, const Span& span,
                                   const Residency& residency);

/// Sets low and high of every event that was counted part of the time. `spreads` has one entry per event,
/// or none.
void set_bounds(std::vector<record::Event>& events, std::span<const RateSpread> spreads, double window_ns,
                double rotation_ns);

/// Adds one window's rates; `spreads` is sized on the first call.
void add_rates(std::vector<RateSpread>& spreads, const std::vector<record::Event>& window);

/// Warnings that follow from a pass's events: not scheduled, multiplexed against the plan, failed reads.
std::vector<record::Warning> warnings_of(const std::vector<record::Event>& events, Policy policy);

}  // namespace tmaprobe::counters::perf
