#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/disturbance.h"
#include "record/record.h"

namespace tmaprobe::timing {

/// What stood around one repetition: whether a stranger or the hypervisor disturbed it.
struct Conditions {
    std::optional<record::Disturbance> disturbance;  ///< empty: nothing disturbed it
    double clock_hz = 0;                             ///< core clock beside the repetition; 0: not known
    double waited_ns = 0;  ///< of the calling thread for its CPU, the readings around it included
    bool clean() const { return !disturbance.has_value(); }
};

/// Called before and after each repetition; the second call judges it. Empty: not judged.
struct Bracket {
    std::function<void()> before;
    std::function<Conditions()> after;
};

/// What the clocks say of one call.
struct Elapsed {
    double wall_ns = 0;    ///< more than 0
    double thread_ns = 0;  ///< processor time of the calling thread; 0: not known
};

/// Something that is timed: does so many iterations of its work and says how long they took.
struct TimedRegion {
    std::function<Result<Elapsed>(std::uint64_t iterations)> run;
    bool one_thread = true;  ///< the calling thread does all of the work
};

/// Called after each repetition with the share of the most repetitions that is done, 0..1. May be empty.
using OnRepetition = std::function<void(double share)>;

struct TimedRepetition {
    double ns_per_iteration = 0;         ///< by the wall clock
    double thread_ns_per_iteration = 0;  ///< processor time of the calling thread; 0: not known
    Conditions conditions;
};

struct TimingRequest {
    int repetitions = 0;  ///< 0: until the median's 95% interval is within `tightness`, at least `least`
    int least = 7, most = 31;
    double tightness = 0.005;     ///< half width of the interval / median
    double repetition_ns = 15e6;  ///< a repetition lasts at least this long
    double budget_ns = 700e6;     ///< stop after this time once `least` is done
    int patience = 3;             ///< so many times longer, and as often, where too few were clean until then
    std::vector<record::DisturbanceCause> expected;  ///< causes that are part of the experiment, and disturb nothing
};

struct Timing {
    std::uint64_t iterations = 1;  ///< of one repetition
    bool one_thread = true;        ///< the calling thread does all of the work
    std::vector<TimedRepetition> repetitions;
};

/// What the wall clock and the thread's own processor time say of one repetition, added to what was seen around it. A
/// thread that had its CPU all the time was not disturbed by what waited before or after it.
Conditions judge_time(Conditions around, double wall_ns, double thread_ns);

/// Finds how many iterations fill a repetition (which warms up as well), then repeats.
/// Errors: those of the region.
Result<Timing> time_region(const TimedRegion& region, const Bracket& bracket, const TimingRequest& request,
                           const OnRepetition& on_repetition);

/// One region of several that are timed in turn.
struct Contestant {
    TimedRegion region;
    Bracket bracket;
};

/// Times several regions in turn, so that a drift of the machine meets all of them alike: in each round
/// every one runs once untimed (the others have pushed it out of the caches) and then twice timed. Ends
/// when all are tight. Errors: those of the regions.
Result<std::vector<Timing>> time_in_turn(const std::vector<Contestant>& contestants, const TimingRequest& request,
                                         const OnRepetition& on_repetition);

/// What one iteration does.
struct IterationWork {
    double operations = 1;
    double bytes = 0;  ///< as the program sees them; 0: it moves none
};

/// The record's view of it: statistics over the clean repetitions where there are enough of them, else
/// over all: then in processor time where one thread does the work, since what it waited is not the region's, and
/// without cycles where that is not known. `clock_hz` of the repetitions gives cycles.
record::Time summarize_timing(const Timing& timing, const IterationWork& per_iteration, const std::string& operation);

}  // namespace tmaprobe::timing
