#include "experiments/timing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sizes.h"

namespace tmaprobe::experiments {
namespace {

constexpr int enough_clean = 3;

Result<double> elapsed_ns(counters::CounterSource& clock, counters::Workload& workload, std::uint64_t iterations) {
    const auto sample = clock.measure(workload, {0, 0, iterations});
    if (!sample) return pass_on(sample);
    return static_cast<double>(std::max<std::uint64_t>(1, sample->elapsed_ns));
}

/// Raises the iterations until they fill a repetition.
Result<std::uint64_t> calibrate(counters::CounterSource& clock, counters::Workload& workload, double wanted_ns) {
    std::uint64_t iterations = 1;
    for (;;) {
        auto elapsed = elapsed_ns(clock, workload, iterations);
        if (!elapsed) return pass_on(elapsed);
        if (*elapsed >= wanted_ns) {
            // A thread that lost its CPU for a moment fills any time: only what lasts twice is believed.
            elapsed = elapsed_ns(clock, workload, iterations);
            if (!elapsed) return pass_on(elapsed);
            if (*elapsed >= wanted_ns / 2) return iterations;
        }
        const double missing = wanted_ns / *elapsed;
        iterations = missing < 4 ? static_cast<std::uint64_t>(static_cast<double>(iterations) * missing * 1.05) + 1
                                 : iterations * 4;
    }
}

std::vector<double> times(const Timing& timing, bool clean_only) {
    std::vector<double> values;
    for (const auto& repetition : timing.repetitions)
        if (!clean_only || repetition.surroundings.clean) values.push_back(repetition.ns_per_iteration);
    return values;
}

int count_clean(const Timing& timing) {
    return static_cast<int>(std::count_if(timing.repetitions.begin(), timing.repetitions.end(),
                                          [](const auto& repetition) { return repetition.surroundings.clean; }));
}

/// The repetitions that statistics are taken over.
bool use_clean_only(const Timing& timing) { return count_clean(timing) >= enough_clean; }

bool is_tight(const Timing& timing, double tightness) {
    const Summary summary = summarize(times(timing, use_clean_only(timing)));
    return (summary.high - summary.low) / 2 <= tightness * summary.median;
}

/// One timed repetition, judged by what stood around it.
Result<> repeat(counters::CounterSource& clock, counters::Workload& workload, const Bracket& bracket, Timing& timing,
                double& spent_ns) {
    if (bracket.before) bracket.before();
    const auto elapsed = elapsed_ns(clock, workload, timing.iterations);
    if (!elapsed) return pass_on(elapsed);
    TimedRepetition repetition{*elapsed / static_cast<double>(timing.iterations), {}};
    if (bracket.after) repetition.surroundings = bracket.after();
    timing.repetitions.push_back(repetition);
    spent_ns += *elapsed;
    return {};
}

/// A stranger that stays slows all repetitions alike: tight is not enough, clean ones are waited for.
bool is_enough(const Timing& timing, bool judged, const TimingRequest& request, double spent_ns) {
    if (request.repetitions || static_cast<int>(timing.repetitions.size()) < request.least) return false;
    const bool trusted = !judged || use_clean_only(timing);
    return (trusted && is_tight(timing, request.tightness)) || spent_ns > request.budget_ns;
}

}  // namespace

Result<Timing> time_workload(counters::CounterSource& clock, counters::Workload& workload, const Bracket& bracket,
                             const TimingRequest& request, const OnProgress& on_progress) {
    Timing timing;
    const auto iterations = calibrate(clock, workload, request.repetition_ns);
    if (!iterations) return pass_on(iterations);
    timing.iterations = *iterations;

    const int most = request.repetitions ? request.repetitions : request.most;
    double spent_ns = 0;
    for (int index = 0; index < most; ++index) {
        const auto repeated = repeat(clock, workload, bracket, timing, spent_ns);
        if (!repeated) return pass_on(repeated);
        if (on_progress) on_progress({"timing", static_cast<double>(index + 1) / most, {}});
        if (is_enough(timing, static_cast<bool>(bracket.after), request, spent_ns)) break;
    }
    return timing;
}

Result<std::vector<Timing>> time_in_turn(counters::CounterSource& clock, const std::vector<Contestant>& contestants,
                                         const TimingRequest& request, const OnProgress& on_progress) {
    constexpr int timed_per_turn = 2;
    std::vector<Timing> timings(contestants.size());
    for (std::size_t index = 0; index < contestants.size(); ++index) {
        const auto iterations = calibrate(clock, *contestants[index].workload, request.repetition_ns);
        if (!iterations) return pass_on(iterations);
        timings[index].iterations = *iterations;
    }
    const int most = request.repetitions ? request.repetitions : request.most;
    std::vector<double> spent_ns(contestants.size());
    for (int done = 0; done < most; done += timed_per_turn) {
        bool enough = true;
        for (std::size_t index = 0; index < contestants.size(); ++index) {
            const auto& [workload, bracket] = contestants[index];
            Timing& timing = timings[index];
            const auto warm = elapsed_ns(clock, *workload, timing.iterations);
            if (!warm) return pass_on(warm);
            for (int turn = 0; turn < std::min(timed_per_turn, most - done); ++turn) {
                const auto repeated = repeat(clock, *workload, bracket, timing, spent_ns[index]);
                if (!repeated) return pass_on(repeated);
            }
            enough = is_enough(timing, static_cast<bool>(bracket.after), request, spent_ns[index]) && enough;
        }
        if (on_progress) on_progress({"timing in turn", std::min(1.0, static_cast<double>(done + timed_per_turn) / most), {}});
        if (enough) break;
    }
    return timings;
}

record::Time summarize_timing(const Timing& timing, const kernels::Work& work, const std::string& operation) {
    record::Time time;
    time.operation = operation;
    time.clean = count_clean(timing);
    time.disturbed = static_cast<int>(timing.repetitions.size()) - time.clean;
    time.known = !timing.repetitions.empty();
    const bool clean_only = use_clean_only(timing);

    std::vector<double> ns_per_op, bytes_per_second, cycles_per_op;
    for (const auto& repetition : timing.repetitions) {
        if (clean_only && !repetition.surroundings.clean) continue;
        const double ns = repetition.ns_per_iteration / work.operations;
        ns_per_op.push_back(ns);
        if (work.bytes > 0) bytes_per_second.push_back(work.bytes / repetition.ns_per_iteration * 1e9);
        if (repetition.surroundings.clock_hz > 0) cycles_per_op.push_back(ns * repetition.surroundings.clock_hz * 1e-9);
    }
    time.ns_per_op = summarize(ns_per_op);
    time.bytes_per_second = summarize(bytes_per_second);
    time.cycles_per_op = summarize(cycles_per_op);
    if (time.cycles_per_op.count) {
        time.cycles_source = "core clock measured beside each repetition";
        if (work.bytes > 0) time.cycles_per_byte = time.cycles_per_op.median * work.operations / work.bytes;
    }
    return time;
}

}  // namespace tmaprobe::experiments
