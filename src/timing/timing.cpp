#include "timing/timing.h"

#include <fmt/format.h>

#include <algorithm>

namespace tmaprobe::timing {
namespace {

/// Of the time of a repetition; a timer's interrupts stay below it.
constexpr double lost_share = 0.01;

/// Raises the iterations until they fill a repetition.
Result<std::uint64_t> calibrate(const TimedRegion& region, double wanted_ns) {
    std::uint64_t iterations = 1;
    for (;;) {
        auto elapsed = TRY(region.run(iterations));
        if (elapsed.wall_ns >= wanted_ns) {
            // A thread that lost its CPU for a moment fills any time: only what lasts twice is believed.
            elapsed = TRY(region.run(iterations));
            if (elapsed.wall_ns >= wanted_ns / 2) return iterations;
        }
        const double missing = wanted_ns / elapsed.wall_ns;
        iterations = missing < 4 ? static_cast<std::uint64_t>(static_cast<double>(iterations) * missing * 1.05) + 1
                                 : iterations * 4;
    }
}

std::vector<double> times(const Timing& timing, bool clean_only) {
    std::vector<double> values;
    for (const auto& repetition : timing.repetitions)
        if (!clean_only || repetition.conditions.clean()) values.push_back(repetition.ns_per_iteration);
    return values;
}

int count_clean(const Timing& timing) {
    return static_cast<int>(std::count_if(timing.repetitions.begin(), timing.repetitions.end(),
                                          [](const auto& repetition) { return repetition.conditions.clean(); }));
}

/// The repetitions that statistics are taken over.
bool use_clean_only(const Timing& timing) { return count_clean(timing) >= record::enough_clean; }

bool is_tight(const Timing& timing, double tightness) {
    const Summary summary = summarize(times(timing, use_clean_only(timing)));
    return (summary.high - summary.low) / 2 <= tightness * summary.median;
}

/// One timed repetition, judged by what stood around it.
Result<> repeat(const Contestant& contestant, const TimingRequest& request, Timing& timing, double& spent_ns) {
    const auto& [region, bracket] = contestant;
    if (bracket.before) bracket.before();
    const auto [wall, thread] = TRY(region.run(timing.iterations));
    const auto iterations = static_cast<double>(timing.iterations);
    TimedRepetition repetition{wall / iterations, thread / iterations, {}};
    if (bracket.after) {
        repetition.conditions = judge_time(bracket.after(), wall, thread);
        auto& disturbance = repetition.conditions.disturbance;
        if (disturbance && std::ranges::find(request.expected, disturbance->cause) != request.expected.end())
            disturbance.reset();
    }
    timing.repetitions.push_back(repetition);
    spent_ns += wall;
    return {};
}

/// A stranger that stays slows all repetitions alike: tight is not enough, clean ones are waited for.
bool is_enough(const Timing& timing, bool judged, const TimingRequest& request, double spent_ns) {
    if (request.repetitions || static_cast<int>(timing.repetitions.size()) < request.least) return false;
    const bool trusted = !judged || use_clean_only(timing);
    if (!trusted) return spent_ns > request.budget_ns * request.patience;
    return static_cast<int>(timing.repetitions.size()) >= request.most || is_tight(timing, request.tightness) ||
           spent_ns > request.budget_ns;
}

/// Repetitions at the most; more where strangers may still go away.
int most_of(const TimingRequest& request, bool judged) {
    if (request.repetitions) return request.repetitions;
    return judged ? request.most * request.patience : request.most;
}

}  // namespace

Conditions judge_time(Conditions around, double wall_ns, double thread_ns) {
    using record::DisturbanceCause;
    if (!(thread_ns > 0) || !(wall_ns > 0)) return around;
    const double lost = 1 - thread_ns / wall_ns;
    const auto seen = [&](DisturbanceCause cause) { return around.disturbance && around.disturbance->cause == cause; };
    if (lost <= lost_share) {
        if (seen(DisturbanceCause::waited_for_cpu)) around.disturbance.reset();
        return around;
    }
    if (seen(DisturbanceCause::stolen) || seen(DisturbanceCause::partner_waited)) return around;
    const bool waited = around.waited_ns >= lost * wall_ns / 2;
    around.disturbance =
        record::Disturbance{waited ? DisturbanceCause::waited_for_cpu : DisturbanceCause::interrupted, lost};
    return around;
}

Result<Timing> time_region(const TimedRegion& region, const Bracket& bracket, const TimingRequest& request,
                           const OnRepetition& on_repetition) {
    Timing timing;
    timing.iterations = TRY(calibrate(region, request.repetition_ns));
    timing.one_thread = region.one_thread;

    const int most = most_of(request, static_cast<bool>(bracket.after));
    double spent_ns = 0;
    for (int index = 0; index < most; ++index) {
        TRY(repeat({region, bracket}, request, timing, spent_ns));
        if (on_repetition) on_repetition(static_cast<double>(index + 1) / most);
        if (is_enough(timing, static_cast<bool>(bracket.after), request, spent_ns)) break;
    }
    return timing;
}

Result<std::vector<Timing>> time_in_turn(const std::vector<Contestant>& contestants, const TimingRequest& request,
                                         const OnRepetition& on_repetition) {
    constexpr int timed_per_turn = 2;
    std::vector<Timing> timings(contestants.size());
    for (std::size_t index = 0; index < contestants.size(); ++index) {
        timings[index].iterations = TRY(calibrate(contestants[index].region, request.repetition_ns));
        timings[index].one_thread = contestants[index].region.one_thread;
    }
    const bool judged = std::any_of(contestants.begin(), contestants.end(),
                                    [](const auto& each) { return static_cast<bool>(each.bracket.after); });
    const int most = most_of(request, judged);
    std::vector<double> spent_ns(contestants.size());
    for (int done = 0; done < most; done += timed_per_turn) {
        bool enough = true;
        for (std::size_t index = 0; index < contestants.size(); ++index) {
            const auto& [region, bracket] = contestants[index];
            Timing& timing = timings[index];
            TRY(region.run(timing.iterations));
            for (int turn = 0; turn < std::min(timed_per_turn, most - done); ++turn) {
                TRY(repeat(contestants[index], request, timing, spent_ns[index]));
            }
            enough = is_enough(timing, static_cast<bool>(bracket.after), request, spent_ns[index]) && enough;
        }
        if (on_repetition) on_repetition(std::min(1.0, static_cast<double>(done + timed_per_turn) / most));
        if (enough) break;
    }
    return timings;
}

record::Time summarize_timing(const Timing& timing, const IterationWork& work, const std::string& operation) {
    record::Time time;
    time.operation = operation;
    time.clean = count_clean(timing);
    time.disturbed = static_cast<int>(timing.repetitions.size()) - time.clean;
    time.known = !timing.repetitions.empty();
    const bool clean_only = use_clean_only(timing);
    // Without enough clean ones a wall time holds what the thread waited. Its own time is known where it works alone.
    const bool has_thread_times =
        std::all_of(timing.repetitions.begin(), timing.repetitions.end(),
                    [](const auto& repetition) { return repetition.thread_ns_per_iteration > 0; });
    const bool in_thread_time = !clean_only && time.disturbed > 0 && timing.one_thread && has_thread_times;
    const bool has_cycles = clean_only || time.disturbed == 0 || in_thread_time;
    time.clock = in_thread_time ? record::ClockKind::processor : record::ClockKind::wall;

    std::vector<double> ns_per_op, bytes_per_second, cycles_per_op;
    std::vector<record::Disturbance> disturbances;
    for (const auto& repetition : timing.repetitions) {
        if (!repetition.conditions.clean()) disturbances.push_back(*repetition.conditions.disturbance);
        if (clean_only && !repetition.conditions.clean()) continue;
        const double per_iteration = in_thread_time ? repetition.thread_ns_per_iteration : repetition.ns_per_iteration;
        const double ns = per_iteration / work.operations;
        ns_per_op.push_back(ns);
        if (work.bytes > 0) bytes_per_second.push_back(work.bytes / per_iteration * 1e9);
        if (has_cycles && repetition.conditions.clock_hz > 0)
            cycles_per_op.push_back(ns * repetition.conditions.clock_hz * 1e-9);
    }
    time.causes = record::count_causes(disturbances);
    time.ns_per_op = summarize(ns_per_op);
    time.bytes_per_second = summarize(bytes_per_second);
    time.cycles_per_op = summarize(cycles_per_op);
    if (time.cycles_per_op.count) {
        time.cycles_source = "core clock measured beside each repetition";
        if (work.bytes > 0) time.cycles_per_byte = time.cycles_per_op.median * work.operations / work.bytes;
    }
    return time;
}

}  // namespace tmaprobe::timing
