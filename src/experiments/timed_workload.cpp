#include "experiments/timed_workload.h"

#include <algorithm>

namespace tmaprobe::experiments {

timing::TimedRegion timed_region(counters::CounterSource& clock, counters::Workload& workload) {
    const auto run = [&clock, &workload](std::uint64_t iterations) -> Result<timing::Elapsed> {
        const auto sample = TRY(clock.measure(workload, {0, 0, iterations}));
        return timing::Elapsed{std::max(1.0, static_cast<double>(sample.elapsed_ns)),
                               static_cast<double>(sample.thread_ns)};
    };
    return {run, workload.threads().empty()};
}

std::vector<record::TimedRepetition> repetitions_of(const timing::Timing& timing, double operations) {
    std::vector<record::TimedRepetition> list;
    for (const auto& repetition : timing.repetitions) {
        const auto& around = repetition.conditions;
        auto& entry = list.emplace_back();
        entry.ns_per_op = repetition.ns_per_iteration / operations;
        if (repetition.thread_ns_per_iteration > 0)
            entry.processor_ns_per_op = repetition.thread_ns_per_iteration / operations;
        if (around.clock_hz > 0) entry.clock_hz = around.clock_hz;
        entry.clean = around.clean();
        if (entry.clean) continue;
        entry.cause = around.disturbance->cause;
        entry.size = around.disturbance->size;
        entry.reason = record::describe(*around.disturbance);
    }
    return list;
}

}  // namespace tmaprobe::experiments
