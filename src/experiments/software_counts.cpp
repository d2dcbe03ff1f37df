#include <algorithm>
#include <map>

#include "counters/perf/perf.h"
#include "counters/software.h"
#include "events/key.h"
#include "experiments/counting.h"
#include "experiments/further_events.h"
#include "experiments/measure_parts.h"
#include "experiments/tree_of_counts.h"

namespace tmaprobe::experiments {
namespace {

template <class Item>
void add_all(std::vector<Item>& items, const std::vector<Item>& more) {
    items.insert(items.end(), more.begin(), more.end());
}

/// Counts of each interval, where no table makes metrics of them.
std::vector<record::IntervalValues> counts_of(const std::vector<counters::Interval>& intervals) {
    std::vector<record::IntervalValues> series;
    for (const auto& interval : intervals) {
        auto& values = series.emplace_back();
        values.at_seconds = static_cast<double>(interval.start_ns + interval.duration_ns) * 1e-9;
        for (const auto& event : interval.events)
            values.events[event.name] =
                event.note == record::Note::none ? std::optional(event.reading.value) : std::nullopt;
    }
    return series;
}

/// As perf stat shows them: of one run, where there were several.
void take_mean(std::vector<record::Event>& events, std::size_t runs) {
    for (auto& event : events) {
        event.reading.value /= static_cast<double>(runs);
        for (auto* sum : {&event.reading.raw, &event.reading.time_enabled_ns, &event.reading.time_running_ns})
            *sum /= runs;
    }
}

void add_interruption(const Counted& counted, MeasuredRun& measured) {
    for (const auto& warning : counted.warnings)
        if (warning.id == "interrupted") measured.warnings.push_back(warning);
}

/// There are counters, and only no table says which numbers theirs have.
bool counts_without_table(const CountingRequest& request, const Setup& setup) {
    return !setup.table && setup.host.pmu.counts && request.source != SourceChoice::none;
}

/// What -e asks for and needs no counter of a core; the rest is said. Errors: as further_events.
Result<std::map<std::string, EventUnit>> add_what_needs_no_core(const CountingRequest& request, const Setup& setup,
                                                                counters::Plan& plan,
                                                                std::vector<record::Warning>& warnings) {
    if (request.events.empty()) return std::map<std::string, EventUnit>{};
    const events::Table nothing_known;
    const events::Table& table = setup.table ? *setup.table : nothing_known;
    auto further = TRY(further_events(table, request.events));
    add_all(warnings, further.notes);
    std::string left_out;
    for (auto& event : further.events) {
        event.key = events::key_of(table, event.definition);
        const std::string& pmu = event.definition.pmu;
        // Where there are counters and only no table, what the kernel names itself counts all the same.
        const bool kernels = pmu == "hardware" || pmu == "hw_cache";
        const bool needs_core = (kernels && !counts_without_table(request, setup)) || pmu.empty() ||
                                pmu.starts_with("cpu") || pmu.starts_with("armv");
        const bool there = std::ranges::any_of(plan.passes.front().groups, [&](const auto& group) {
            return std::ranges::any_of(group.events, [&](const auto& known) {
                return known.name == event.name || (known.definition.pmu == pmu && event.definition.modifiers.empty() &&
                                                    known.definition.config == event.definition.config);
            });
        });
        if (needs_core)
            left_out += (left_out.empty() ? "" : ", ") + event.name;
        else if (!there)
            plan.passes.front().groups.push_back({pmu, {event}});
    }
    keep_together(further.together, plan);
    plan.user = request.count_user;
    plan.kernel = request.count_kernel;
    if (!left_out.empty())
        warnings.push_back({"event_not_counted",
                            left_out + ": not counted: " +
                                (setup.host.pmu.counts ? "--source none leaves the core's counters alone"
                                                       : "no counters here: " + setup.host.pmu.reason),
                            setup.host.pmu.counts ? "leave --source out" : setup.host.pmu.hint});
    return further.units;
}

}  // namespace

Result<> add_software_events(counters::Workload& workload, std::uint64_t iterations, const CountingRequest& request,
                             const Setup& setup, int repetitions, const OnProgress& on_progress,
                             MeasuredRun& measured) {
    const auto& scope = request.scope;
    const bool command = !workload.command().empty();
    auto plan = counters::software_plan();
    const auto units = TRY(add_what_needs_no_core(request, setup, plan, measured.warnings));
    counters::perf::PerfOptions options{request.interval_ms, true, {}, request.seconds, request.detail};
    if (request.on_interval)
        options.on_interval = [&](const counters::Interval& interval) {
            request.on_interval(static_cast<double>(interval.start_ns + interval.duration_ns) * 1e-9, {},
                                interval.events);
        };
    auto source = TRY(counters::perf::make_source(scope, options));
    if (const auto possible = source->prepare(plan); !possible) {
        using Kind = counters::Scope::Kind;
        if (scope.kind == Kind::process || scope.kind == Kind::cpus) return pass_on(possible);
        measured.warnings.push_back(
            {"no_software_events", "not even software events: " + possible.error().what, possible.error().hint});
        if (!command) return {};
        const auto timed =
            TRY(count(*counters::make_clock_source(), workload, {}, iterations, repetitions, on_progress));
        add_all(measured.command_runs, timed.runs);
        add_interruption(timed, measured);
        return {};
    }
    auto counted = TRY(count(*source, workload, plan, iterations, repetitions, on_progress));
    take_mean(counted.events, std::max<std::size_t>(1, counted.repetitions.size()));
    add_all(measured.run.events, counted.events);
    add_all(measured.run.metrics, in_units(units, counted.events));
    if (std::ranges::any_of(counted.events, [](const auto& event) {
            return event.pmu == "hardware" && event.reading.time_running_ns > 0;
        }))
        measured.source = source->describe();
    for (const auto& warning : counted.warnings)
        if (warning.id == "counting_never_began" || warning.id == "counted_in_turns" ||
            warning.id == "cpu_went_offline" || warning.id == "was_asleep")
            measured.warnings.push_back(warning);
    if (setup.cpu_sums != CpuSums::core) measured.run.extra.per_core = counts_by_place(setup, counted);
    if (!counted.series.empty()) measured.run.extra.series = counts_of(counted.series);
    add_all(measured.command_runs, counted.runs);
    add_interruption(counted, measured);
    return {};
}

}  // namespace tmaprobe::experiments
