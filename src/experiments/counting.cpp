#include "experiments/counting.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

#include "base/log.h"
#include "counters/perf/bounds.h"

namespace tmaprobe::experiments {
namespace {

bool same_counter(const record::Event& a, const record::Event& b) {
    return a.name == b.name && a.pmu == b.pmu && a.pass == b.pass && a.group == b.group;
}

bool never_ran(const record::Event& event) { return event.note == record::Note::not_counted; }

/// Adds a further run's count to the sum: raw, times and scaled values add up.
void add_to(record::Event& sum, const record::Event& more) {
    auto& reading = sum.reading;
    reading.raw += more.reading.raw;
    reading.time_enabled_ns += more.reading.time_enabled_ns;
    reading.time_running_ns += more.reading.time_running_ns;
    reading.value += more.reading.value;
    const double low = more.low.value_or(more.reading.value), high = more.high.value_or(more.reading.value);
    if (sum.low || more.low) sum.low = sum.low.value_or(reading.value - more.reading.value) + low;
    if (sum.high || more.high) sum.high = sum.high.value_or(reading.value - more.reading.value) + high;
    // One run without a counter makes the sum a part, not nothing.
    if (never_ran(sum) != never_ran(more))
        sum.note = never_ran(sum) ? more.note : sum.note;
    else if (more.note != record::Note::none)
        sum.note = more.note;
}

/// Runs in which the event never had a counter are taken to be like those in which it had one, and the bounds say
/// how little is known of that.
void scale_to_all_runs(record::Event& sum, std::uint64_t uncounted_ns) {
    constexpr double rotation_ns = 4e6;  // one piece of a run: the kernel's slowest default
    const auto all = static_cast<double>(sum.reading.time_enabled_ns);
    const auto missing = static_cast<double>(uncounted_ns);
    if (sum.reading.time_running_ns == 0 || missing <= 0 || missing >= all) return;
    const double share = 1 - missing / all, scale = 1 / share;
    const double error = counters::perf::multiplex_error(share, all, rotation_ns, {}, 0);
    const double low = sum.low.value_or(sum.reading.value), high = sum.high.value_or(sum.reading.value);
    sum.reading.value *= scale;
    sum.low = std::max(static_cast<double>(sum.reading.raw), low * scale * (1 - error));
    sum.high = high * scale * (1 + error);
}

/// Warnings of repetitions say the same thing again; each is kept once.
void add_warning(std::vector<record::Warning>& warnings, const record::Warning& warning) {
    const bool known = std::any_of(warnings.begin(), warnings.end(),
                                   [&](const auto& old) { return old.id == warning.id && old.what == warning.what; });
    if (!known) warnings.push_back(warning);
}

double ns_of(const timeval& time) {
    return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * static_cast<double>(time.tv_usec);
}

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

std::string names_of(const counters::EventGroup& group) {
    std::string names;
    for (const auto& event : group.events) names += (names.empty() ? "" : ", ") + event.name;
    return names;
}

}  // namespace

std::vector<record::Event> sum_of(const std::vector<std::vector<record::Event>>& sets) {
    if (sets.empty()) return {};
    std::vector<record::Event> sums;
    std::vector<std::uint64_t> uncounted_ns;
    for (const auto& events : sets)
        for (const auto& event : events) {
            auto found =
                std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return same_counter(sum, event); });
            const bool is_new = found == sums.end();
            if (is_new) {
                found = sums.insert(sums.end(), event);
                uncounted_ns.push_back(0);
            } else {
                add_to(*found, event);
            }
            if (never_ran(event))
                uncounted_ns[static_cast<std::size_t>(found - sums.begin())] += event.reading.time_enabled_ns;
        }
    for (std::size_t index = 0; index < sums.size(); ++index) scale_to_all_runs(sums[index], uncounted_ns[index]);
    return sums;
}

void add_regions(counters::RegionSamples more, std::size_t runs, std::optional<counters::RegionSamples>& sum) {
    if (!sum) {
        sum = std::move(more);
        return;
    }
    const auto mean = [&](double old, double last) {
        return old + (last - old) / static_cast<double>(std::max<std::size_t>(1, runs));
    };
    for (std::size_t i = 0; i < more.known.list.size(); ++i) {
        record::Region& region = more.known.list[i];
        const auto found = std::ranges::find_if(sum->known.list, [&](const record::Region& old) {
            return old.name == region.name && old.kind == region.kind;
        });
        if (found == sum->known.list.end()) continue;
        auto& events = more.events[i].events;
        const auto& before = sum->events[static_cast<std::size_t>(found - sum->known.list.begin())].events;
        if (!before.empty()) events = events.empty() ? before : sum_of({before, events});
        if (!found->cost) continue;
        if (!region.cost) {
            region.cost = found->cost;
            region.reason.clear();
            continue;
        }
        record::RegionCost& cost = *region.cost;
        cost.share = mean(found->cost->share, cost.share);
        cost.own_share = mean(found->cost->own_share, cost.own_share);
        cost.low = std::min(found->cost->low, cost.low);
        cost.high = std::max(found->cost->high, cost.high);
        if (!cost.instructions_per_entry) {
            cost.instructions = found->cost->instructions;
            cost.instructions_per_entry = found->cost->instructions_per_entry;
        }
        if (cost.cycles <= 0) cost.cycles = found->cost->cycles;
    }
    // What only earlier runs entered is kept.
    for (std::size_t i = 0; i < sum->known.list.size(); ++i) {
        record::Region& old = sum->known.list[i];
        if (std::ranges::any_of(more.known.list, [&](const record::Region& region) {
                return region.name == old.name && region.kind == old.kind;
            }))
            continue;
        old.inside.reset();
        more.known.list.push_back(std::move(old));
        more.events.push_back(std::move(sum->events[i]));
    }
    more.known.outside_share = mean(sum->known.outside_share, more.known.outside_share);
    sum = std::move(more);
}

Result<Counted> count(counters::CounterSource& source, counters::Workload& workload, const counters::Plan& plan,
                      std::uint64_t iterations, int repetitions, const OnProgress& on_progress) {
    TRY(source.prepare(plan));

    const log::Step step("counting with " + text_of(source.describe().kind));
    for (std::size_t pass = 0; pass < plan.passes.size(); ++pass)
        for (std::size_t group = 0; group < plan.passes[pass].groups.size(); ++group)
            log::detail("pass {} group {}: {}", pass, group, names_of(plan.passes[pass].groups[group]));
    Counted counted;
    counted.nothing_seen = true;
    const std::size_t passes = source.runs_of(plan, workload);
    const double total = static_cast<double>(passes) * repetitions;
    const bool command = !workload.command().empty();
    bool interrupted = false;
    std::size_t region_runs = 0;
    for (int repetition = 0; repetition < repetitions && !interrupted; ++repetition) {
        std::vector<record::Event> events;
        for (std::size_t pass = 0; pass < passes && !interrupted; ++pass) {
            if (command) workload.prepare();
            if (on_progress) {
                const std::string work(source.traits().work);
                on_progress({passes > 1 ? fmt::format("{}, pass {} of {}", work, pass + 1, passes) : work,
                             (repetition * static_cast<double>(passes) + static_cast<double>(pass)) / total,
                             {},
                             ProgressOf::step});
            }
            rusage before{};
            ::getrusage(RUSAGE_CHILDREN, &before);
            auto sample = TRY(source.measure(workload, {pass, repetition, iterations}));
            events.insert(events.end(), sample.events.begin(), sample.events.end());
            for (auto& variation : sample.variations) counted.variations.push_back(std::move(variation));
            for (const auto& [cpu, on_cpu] : sample.by_cpu) {
                auto& sum = counted.by_cpu[cpu];
                sum = sum_of({sum, on_cpu});
            }
            counters::add_latencies(sample.latencies, counted.latencies);
            if (counted.series.empty()) counted.series = std::move(sample.series);
            for (const auto& warning : sample.warnings) add_warning(counted.warnings, warning);
            counted.nothing_seen = counted.nothing_seen && sample.nothing_seen;
            counted.elapsed_ns += static_cast<double>(sample.elapsed_ns);
            if (command) counted.runs.push_back(run_since(before, sample));
            interrupted = command && sample.interrupted;
            if (sample.perf) counted.perf = std::move(sample.perf);
            if (sample.model) counted.model = std::move(sample.model);
            if (sample.attribution) counted.attribution = std::move(sample.attribution);
            if (sample.regions) add_regions(std::move(*sample.regions), ++region_runs, counted.regions);
        }
        counted.repetitions.push_back(std::move(events));
    }
    counted.events = sum_of(counted.repetitions);
    counted.source = source.describe();
    return counted;
}

}  // namespace tmaprobe::experiments
