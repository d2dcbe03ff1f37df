#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/event_counter.h"

namespace tmaprobe::model {

/// What a window executed at an address, how long that took, and what happened meanwhile.
struct SampledCode {
    double executions = 0, cycles = 0;
    EventCounts events{};

    void add(const SampledCode& more);
};

/// Of a window, by address.
using WindowCosts = std::map<std::uint64_t, SampledCode>;

/// What a stretch of a run executed at an address, and what happened meanwhile.
struct FollowedCode {
    std::uint64_t address = 0;
    std::uint32_t executions = 0;
    std::array<std::uint32_t, dear_events> events{};
};

/// Events of a whole run, as far as they were counted: in all of it, or in stretches.
struct CountedEvents {
    using Stretches = std::vector<std::vector<FollowedCode>>;
    std::map<std::uint64_t, SampledCode> all;    ///< of what was followed, without cycles
    std::shared_ptr<const Stretches> stretches;  ///< each stretch; null: the whole run was followed
};

/// A program's cost from how often each of its instructions was executed, which is known, and what they took in some
/// windows: each execution that no window had is taken to cost what the others of the same instruction did on average
/// (a ratio estimate, stratified by instruction). What depends on the way to an instruction, and on what happened to
/// it, by regression: on how often windows went which way, and on their events. Of these the whole run has as many as
/// were counted; where they were counted in stretches, what these differ by is part of the error.
/// Instructions that no window had cost what all do on average.
struct CostEstimate {
    double cycles = 0;
    double standard_error = 0;                   ///< by how far windows are from the average, each instruction apart
    double sampled = 0;                          ///< executions in the windows
    std::map<std::uint64_t, double> by_address;  ///< cycles
};

/// `executions`: of the whole run, by address. `windows`: by chance anywhere in it. `awaited`: where code that is rare
/// was waited for; they count for the instructions that hardly any of the others has met.
CostEstimate estimate_cost(const std::map<std::uint64_t, double>& executions, const std::vector<WindowCosts>& windows,
                           const std::vector<WindowCosts>& awaited = {}, const CountedEvents& events = {});

}  // namespace tmaprobe::model
