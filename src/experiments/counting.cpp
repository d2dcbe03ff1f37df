#include "experiments/counting.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

namespace tmaprobe::experiments {
namespace {

bool same_counter(const record::Event& a, const record::Event& b) {
    return a.name == b.name && a.pmu == b.pmu && a.pass == b.pass && a.group == b.group;
}

/// Adds a further run's count to the sum: raw and times add up, the scaled value follows from them.
void add_to(record::Event& sum, const record::Event& more) {
    auto& reading = sum.reading;
    reading.raw += more.reading.raw;
    reading.time_enabled_ns += more.reading.time_enabled_ns;
    reading.time_running_ns += more.reading.time_running_ns;
    reading.value += more.reading.value;
    const double low = more.low.value_or(more.reading.value), high = more.high.value_or(more.reading.value);
    if (sum.low || more.low) sum.low = sum.low.value_or(reading.value - more.reading.value) + low;
    if (sum.high || more.high) sum.high = sum.high.value_or(reading.value - more.reading.value) + high;
    if (!more.note.empty()) sum.note = more.note;
}

/// Warnings of repetitions say the same thing again; each is kept once.
void add_warning(std::vector<record::Warning>& warnings, const record::Warning& warning) {
    const bool known = std::any_of(warnings.begin(), warnings.end(),
                                   [&](const auto& old) { return old.id == warning.id && old.what == warning.what; });
    if (!known) warnings.push_back(warning);
}

double ns_of(const timeval& time) { return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * static_cast<double>(time.tv_usec); }

/// Processor time of the children that have ended since `before`.
CommandRun run_since(const rusage& before, const counters::Sample& sample) {
    rusage now{};
    ::getrusage(RUSAGE_CHILDREN, &now);
    CommandRun run;
    run.elapsed_ns = sample.traced ? sample.traced->elapsed_ns : static_cast<double>(sample.elapsed_ns);
    run.user_ns = ns_of(now.ru_utime) - ns_of(before.ru_utime);
    run.system_ns = ns_of(now.ru_stime) - ns_of(before.ru_stime);
    run.traced = sample.traced;
    run.exit_status = sample.exit_status.value_or(0);
    run.interrupted = sample.interrupted;
    return run;
}

}  // namespace

std::vector<record::Event> sum_of(const std::vector<std::vector<record::Event>>& sets) {
    if (sets.empty()) return {};
    auto sums = sets.front();
    for (std::size_t index = 1; index < sets.size(); ++index)
        for (const auto& event : sets[index]) {
            const auto found = std::find_if(sums.begin(), sums.end(),
                                            [&](const auto& sum) { return same_counter(sum, event); });
            if (found == sums.end())
                sums.push_back(event);
            else
                add_to(*found, event);
        }
    return sums;
}

Result<Counted> count(counters::CounterSource& source, counters::Workload& workload, const counters::Plan& plan,
                      std::uint64_t iterations, int repetitions, const OnProgress& on_progress) {
    const auto prepared = source.prepare(plan);
    if (!prepared) return pass_on(prepared);

    Counted counted;
    const std::size_t passes = std::max<std::size_t>(1, plan.passes.size());
    const double total = static_cast<double>(passes) * repetitions;
    const bool command = !workload.command().empty();
    bool interrupted = false;
    for (int repetition = 0; repetition < repetitions && !interrupted; ++repetition) {
        std::vector<record::Event> events;
        for (std::size_t pass = 0; pass < passes && !interrupted; ++pass) {
            if (command) workload.prepare();
            rusage before{};
            ::getrusage(RUSAGE_CHILDREN, &before);
            auto sample = source.measure(workload, {pass, repetition, iterations});
            if (!sample) return pass_on(sample);
            events.insert(events.end(), sample->events.begin(), sample->events.end());
            for (auto& variation : sample->variations) counted.variations.push_back(std::move(variation));
            for (const auto& [cpu, on_cpu] : sample->by_cpu) {
                auto& sum = counted.by_cpu[cpu];
                sum = sum_of({sum, on_cpu});
            }
            if (counted.series.empty()) counted.series = std::move(sample->series);
            for (const auto& warning : sample->warnings) add_warning(counted.warnings, warning);
            counted.elapsed_ns += static_cast<double>(sample->elapsed_ns);
            if (command) counted.runs.push_back(run_since(before, *sample));
            interrupted = command && sample->interrupted;
            if (!sample->detail.empty()) counted.detail.update(sample->detail);
            if (on_progress)
                on_progress({passes > 1 ? fmt::format("counting, pass {} of {}", pass + 1, passes) : "counting",
                             (repetition * static_cast<double>(passes) + static_cast<double>(pass) + 1) / total,
                             {}});
        }
        counted.repetitions.push_back(std::move(events));
    }
    counted.events = sum_of(counted.repetitions);
    counted.source = source.describe();
    return counted;
}

}  // namespace tmaprobe::experiments
