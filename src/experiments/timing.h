#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/source.h"
#include "experiments/progress.h"
#include "kernels/kernel.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// What stood around one repetition: whether a stranger or the hypervisor disturbed it.
struct Surroundings {
    bool clean = true;
    std::string reason;   ///< why not, one line
    double clock_hz = 0;  ///< core clock beside the repetition; 0: not known
};

/// Called before and after each repetition; the second call judges it. Empty: not judged.
struct Bracket {
    std::function<void()> before;
    std::function<Surroundings()> after;
};

struct TimedRepetition {
    double ns_per_iteration = 0;
    Surroundings surroundings;
};

struct TimingRequest {
    int repetitions = 0;           ///< 0: until the median's 95% interval is within `tightness`, at least `least`
    int least = 7, most = 31;
    double tightness = 0.005;      ///< half width of the interval / median
    double repetition_ns = 15e6;   ///< a repetition lasts at least this long
    double budget_ns = 700e6;      ///< stop after this time once `least` is done
};

struct Timing {
    std::uint64_t iterations = 1;  ///< of one repetition
    std::vector<TimedRepetition> repetitions;
};

/// Finds how many iterations fill a repetition (which warms up as well), then repeats.
/// Errors: those of the source.
Result<Timing> time_workload(counters::CounterSource& clock, counters::Workload& workload, const Bracket& bracket,
                             const TimingRequest& request, const OnProgress& on_progress);

/// One workload of several that are timed in turn.
struct Contestant {
    counters::Workload* workload = nullptr;
    Bracket bracket;
};

/// Times several workloads in turn, so that a drift of the machine meets all of them alike: in each round
/// every one runs once untimed (the others have pushed it out of the caches) and then twice timed. Ends
/// when all are tight. Errors: those of the source.
Result<std::vector<Timing>> time_in_turn(counters::CounterSource& clock, const std::vector<Contestant>& contestants,
                                         const TimingRequest& request, const OnProgress& on_progress);

/// The record's view of it: statistics over the clean repetitions where there are at least three, else
/// over all. `clock_hz` of the repetitions gives cycles.
record::Time summarize_timing(const Timing& timing, const kernels::Work& per_iteration, const std::string& operation);

}  // namespace tmaprobe::experiments
