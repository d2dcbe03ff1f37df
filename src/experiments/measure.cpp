#include "experiments/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/sizes.h"
#include "base/suggest.h"
#include "counters/model/model.h"
#include "counters/perf/perf.h"
#include "counters/software.h"
#include "experiments/assess.h"
#include "experiments/canary.h"
#include "experiments/count_warnings.h"
#include "experiments/counting.h"
#include "experiments/hybrid.h"
#include "experiments/measure_parts.h"
#include "experiments/monitoring.h"
#include "experiments/timing_words.h"
#include "experiments/tree_of_counts.h"
#include "experiments/workloads.h"

namespace tmaprobe::experiments {
namespace {

/// The model has no counters to run out of: everything is one pass.
std::vector<counters::PmuLimits> no_limits() {
    constexpr int plenty = 1 << 16;
    counters::PmuLimits limits;
    limits.general_counters = limits.fixed_counters = plenty;
    limits.has_slots = limits.has_level2_metrics = true;
    return {limits};
}

template <class Item>
void append(std::vector<Item>& items, const std::vector<Item>& more) {
    items.insert(items.end(), more.begin(), more.end());
}

Result<counters::Plan> plan_for(SourceChoice choice, const RunRequest& request, const Setup& setup) {
    const auto further = further_events(*setup.table, request.events);
    if (!further) return pass_on(further);
    const bool modelled = choice == SourceChoice::model;
    auto plan = counters::make_plan(*setup.table, setup.metrics, further->events,
                                    modelled ? no_limits() : counters::perf::probe_limits(), setup.constants,
                                    modelled ? counters::Policy::passes : request.policy);
    if (!plan) return pass_on(plan);
    append(plan->notes, further->notes);
    plan->level = request.level;
    plan->user = request.count_user;
    plan->kernel = request.count_kernel;
    return plan;
}

/// A second source's values stand beside the first's.
void add_beside(const std::vector<record::Metric>& metrics, record::Run& run) {
    auto& other = run.extra["beside"] = nlohmann::json::array();
    for (const auto& metric : metrics)
        other.push_back({{"name", metric.name}, {"value", metric.value}, {"low", metric.low},
                         {"high", metric.high}, {"status", metric.status}, {"reason", metric.reason}});
}

/// Somebody took the counters between the check and the end. A kernel can go on with another source; a command has
/// run, and is not run again for this: its record has its time, and says why it has no more.
Result<> say_counters_lost(bool kernel, const Setup& setup, const Counted& counted, Measured& measured) {
    const auto why = counters_lost(setup.host);
    if (kernel) return fail(ErrorCode::unavailable, why.what, why.hint);
    std::erase_if(measured.warnings, [](const auto& warning) { return warning.id == "not_counted"; });
    measured.warnings.push_back({why.id, why.what, why.hint});
    measured.source = {"none", setup.table->cpu_id, ""};
    measured.why_source = why.what;
    measured.run.events.insert(measured.run.events.end(), counted.events.begin(), counted.events.end());
    return {};
}

}  // namespace

Result<> add_counts(SourceChoice choice, const RunRequest& request, const Setup& setup, counters::Workload& workload,
                    std::uint64_t iterations, const OnProgress& on_progress, Measured& measured) {
    const auto plan = plan_for(choice, request, setup);
    if (!plan) return pass_on(plan);
    // Without anything else to count, what was named is waited for, and the kernel's own events count.
    if (plan->passes.empty() && workload.only_waits()) return add_software_events(workload, iterations, request, 1, on_progress, measured);
    auto source = make_source(choice, request, *setup.table, setup.host);
    if (!source) return pass_on(source);
    const bool modelled = choice == SourceChoice::model;
    const bool kernel = workload.command().empty() && !workload.only_waits();
    const int repetitions = modelled ? 1 : request.repetitions ? request.repetitions : kernel ? 5 : 1;
    auto counted = count(**source, workload, *plan, iterations, repetitions, on_progress);
    if (!counted) return pass_on(counted);

    append(measured.warnings, counted->warnings);
    append(measured.command_runs, counted->runs);
    // A command may end before anything of it was modelled.
    if (modelled && counted->detail.value("windows", 0) == 0) return {};

    if (!modelled && nothing_was_counted(counted->events)) return say_counters_lost(kernel, setup, *counted, measured);

    // A CPU may be idle, a process may sleep, and both may be in the kernel alone; what we start executes instructions.
    const bool ours = request.scope.kind == counters::Scope::Kind::this_thread || request.scope.kind == counters::Scope::Kind::command;
    if (!modelled && ours && request.count_user) say_impossible_zeros(*setup.table, *counted, measured.warnings);

    AssessRequest assessment;
    assessment.metrics = setup.metrics;
    assessment.constants = setup.constants;
    assessment.status = modelled ? "modelled" : "measured";
    assessment.repetitions = counted->repetitions;
    assessment.variations = counted->variations;
    const auto pmus = pmus_of(counted->events);
    auto tree = tree_of_counts(setup, *counted, assessment, pmus.front());
    if (!tree) return pass_on(tree);

    append(measured.warnings, plan->notes);
    if (auto split = say_split(*plan, tree->metrics)) measured.warnings.push_back(std::move(*split));
    measured.source = counted->source;
    auto& run = measured.run;
    if (!counted->detail.empty()) run.extra[modelled ? "model" : "perf"] = counted->detail;
    if (modelled && !request.assume_pages.empty()) run.extra["model"]["assumed_pages"] = request.assume_pages;
    if (!run.metrics.empty()) {
        add_beside(tree->metrics, run);
        return {};
    }
    const record::Run without_tree = run;
    if (!pmus.front().empty()) run.parameters["pmu"] = pmus.front();
    add_tree(std::move(*tree), run);
    for (std::size_t index = 1; index < pmus.size(); ++index) {
        auto further = tree_of_counts(setup, *counted, assessment, pmus[index]);
        if (!further) return pass_on(further);
        measured.further_runs.push_back(without_tree);
        measured.further_runs.back().parameters["pmu"] = pmus[index];
        add_tree(std::move(*further), measured.further_runs.back());
    }
    return {};
}

namespace {

/// Counts of each interval, where no table makes metrics of them.
nlohmann::json counts_of(const std::vector<counters::Interval>& intervals) {
    auto series = nlohmann::json::array();
    for (const auto& interval : intervals) {
        auto values = nlohmann::json::object();
        for (const auto& event : interval.events) values[event.name] = event.note.empty() ? nlohmann::json(event.reading.value) : nlohmann::json();
        series.push_back({{"at_seconds", static_cast<double>(interval.start_ns + interval.duration_ns) * 1e-9},
                          {"metrics", nlohmann::json::object()}, {"events", std::move(values)}});
    }
    return series;
}

/// As perf stat shows them: of one run, where there were several.
void take_mean(std::vector<record::Event>& events, std::size_t runs) {
    for (auto& event : events) {
        event.reading.value /= static_cast<double>(runs);
        for (auto* sum : {&event.reading.raw, &event.reading.time_enabled_ns, &event.reading.time_running_ns}) *sum /= runs;
    }
}

void add_interruption(const Counted& counted, Measured& measured) {
    for (const auto& warning : counted.warnings)
        if (warning.id == "interrupted") measured.warnings.push_back(warning);
}

}  // namespace

Result<> add_software_events(counters::Workload& workload, std::uint64_t iterations, const RunRequest& request, int repetitions,
                             const OnProgress& on_progress, Measured& measured) {
    const auto& scope = request.scope;
    const bool command = !workload.command().empty();
    const auto plan = counters::software_plan();
    auto source = counters::perf::make_source(scope, {request.interval_ms, true});
    if (!source) return pass_on(source);
    if (const auto possible = (*source)->prepare(plan); !possible) {
        using Kind = counters::Scope::Kind;
        if (scope.kind == Kind::process || scope.kind == Kind::cpus) return pass_on(possible);
        measured.warnings.push_back({"no_software_events", "not even software events: " + possible.error().what,
                                     possible.error().hint});
        if (!command) return {};
        const auto timed = count(*counters::make_clock_source(), workload, {}, iterations, repetitions, on_progress);
        if (!timed) return pass_on(timed);
        append(measured.command_runs, timed->runs);
        add_interruption(*timed, measured);
        return {};
    }
    auto counted = count(**source, workload, plan, iterations, repetitions, on_progress);
    if (!counted) return pass_on(counted);
    take_mean(counted->events, std::max<std::size_t>(1, counted->repetitions.size()));
    measured.run.events.insert(measured.run.events.end(), counted->events.begin(), counted->events.end());
    if (!counted->series.empty()) measured.run.extra["series"] = counts_of(counted->series);
    append(measured.command_runs, counted->runs);
    add_interruption(*counted, measured);
    return {};
}

namespace {

/// What the bus to memory moves at the program's rate if no cache holds the data: stores fetch their lines.
void add_bus_bytes(const kernels::Work& work, record::Run& run) {
    const double rate = run.time.bytes_per_second.median;
    if (work.bytes > 0 && work.bus_bytes > 0 && rate > 0)
        run.extra["bus_bytes_per_second"] = rate * work.bus_bytes / work.bytes;
}

record::Run describe(const Point& point, const kernels::Kernel& kernel) {
    record::Run run;
    run.kernel = point.kernel->name;
    run.variant = point.variant.name;
    for (const auto& [name, value] : kernel.parameters()) run.parameters[name] = value;
    if (point.kernel->uses_memory) {
        run.parameters["size_bytes"] = point.parameters.size_bytes ? point.parameters.size_bytes : point.kernel->default_size;
        record::Pages pages;
        pages.requested = point.parameters.pages.name;
        pages.obtained_bytes = kernel.obtained_pages();
        run.pages = std::move(pages);
    }
    run.parameters["threads"] = point.parameters.cpus.size();
    run.parameters["cpus"] = point.parameters.cpus;
    if (!point.variant_trial.is_null()) run.extra["variant_trial"] = point.variant_trial;
    return run;
}

/// A transparent huge page mode that came out partly small is not what was asked for.
void add_page_warning(const Point& point, const record::Run& run, std::vector<record::Warning>& warnings) {
    if (!run.pages) return;
    const std::string base = memory::page_name(memory::base_page_bytes());
    std::uint64_t total = 0, small = 0;
    for (const auto& [size, bytes] : run.pages->obtained_bytes) {
        total += bytes;
        if (size == base) small += bytes;
    }
    if (point.parameters.pages.name.empty() || point.parameters.pages.name == base || total == 0 || small == 0) return;
    warnings.push_back({"partly_small_pages",
                        fmt::format("--pages {}: {:.0f}% of the memory came out in pages of {}", run.pages->requested,
                                    100.0 * static_cast<double>(small) / static_cast<double>(total), base),
                        "--pages 2m takes reserved huge pages and refuses less"});
}

/// Huge pages whose translations are split by the hypervisor save walks, not misses: that is said.
void add_effective_pages(const EffectivePages& effective, Measured& measured) {
    auto& pages = measured.run.pages;
    if (!pages) return;
    pages->effective = effective.name;
    measured.run.extra["effective_pages"] = effective.why;
    if (pages->requested != "4k" && effective.name == "4k")
        measured.warnings.push_back({"split_huge_pages", fmt::format("--pages {}: {}", pages->requested, effective.why),
                                     "knees stay where they are with 4k pages; only the host can map this machine with huge pages; the model takes the "
                                     "guest's page sizes: --assume-pages 4k models what this machine does"});
    const bool all_huge = !pages->obtained_bytes.empty() && !pages->obtained_bytes.contains(memory::page_name(memory::base_page_bytes()));
    if (effective.name.empty() && all_huge)
        measured.warnings.push_back({"unknown_effective_pages", fmt::format("--pages {}: whether the TLB holds entries that large is not known: {}", pages->requested, effective.why),
                                     "knees are predicted as if it did; finding out takes some huge pages beside the kernel's own"});
}

/// The user named no source: what was timed is worth having even if no source gives a tree.
bool may_do_without(const RunRequest& request, const Error& error) {
    return request.source == SourceChoice::automatic && request.target.empty() &&
           (error.code == ErrorCode::unavailable || error.code == ErrorCode::no_permission);
}

record::Warning without_tree(const Error& error) { return {"no_tree", "no top-down tree: " + error.what, error.hint}; }

/// A kernel in its memory, with the beginning of its run.
struct Built {
    std::unique_ptr<KernelWorkload> workload;
    Measured measured;
};

/// Binds this thread and builds all kernels. The page sizes are found out first, while the memory for that
/// is still free.
Result<std::vector<Built>> build(const Setup& setup, const std::vector<Point>& points) {
    const auto& cpus = points.front().parameters.cpus;
    if (!cpus.empty()) {
        const auto pinned = machine::pin_this_thread(cpus.front());
        if (!pinned) return pass_on(pinned);
    }
    std::vector<EffectivePages> effective;
    for (const auto& point : points) {
        const bool to_be_found = !point.effective && point.kernel->uses_memory && point.runs_here;
        effective.push_back(to_be_found ? effective_pages(setup.host, point.parameters.pages, point.parameters.numa_node)
                                        : point.effective.value_or(EffectivePages{}));
    }
    std::vector<Built> built;
    for (std::size_t index = 0; index < points.size(); ++index) {
        auto kernel = points[index].kernel->make(points[index].variant.name, points[index].parameters);
        if (!kernel) return pass_on(kernel);
        Built each{std::make_unique<KernelWorkload>(std::move(*kernel)), {}};
        each.measured.run = describe(points[index], each.workload->kernel());
        each.measured.source = {"none", setup.table ? setup.table->cpu_id : "", setup.decision.why};
        add_page_warning(points[index], each.measured.run, each.measured.warnings);
        add_effective_pages(effective[index], each.measured);
        built.push_back(std::move(each));
    }
    return built;
}

/// Empty when this CPU cannot run the variant (then it can run it at no point).
Result<std::vector<Timing>> time_built(const Setup& setup, const std::vector<Built>& built, const std::vector<Point>& points,
                                       const TimingRequest& request, const OnProgress& on_progress) {
    if (!points.front().runs_here) return std::vector<Timing>{};
    const auto clock = counters::make_clock_source();
    const Bracket canary = canary_bracket(setup.host);
    std::vector<Contestant> contestants;
    for (const auto& [workload, measured] : built)
        contestants.push_back({workload.get(), watch_threads(canary, workload->kernel().threads(), points.front().parameters.cpus)});
    if (contestants.size() > 1) return time_in_turn(*clock, contestants, request, on_progress);
    auto timing = time_workload(*clock, *contestants.front().workload, contestants.front().bracket, request, on_progress);
    if (!timing) return pass_on(timing);
    return std::vector<Timing>{std::move(*timing)};
}

void add_timing(const Point& point, const Timing& timing, const kernels::Work& work, bool one_of_several, Measured& measured) {
    measured.run.time = summarize_timing(timing, work, point.kernel->operation);
    add_bus_bytes(work, measured.run);
    measured.run.extra["repetitions"] = repetitions_json(timing, work.operations);
    add_timing_warnings(measured.run.time, one_of_several ? "--pages " + point.parameters.pages.name + ": " : "", measured.warnings);
}

/// What a kernel that lost its counters goes on with, where the user named no source.
bool can_model_instead(SourceChoice failed, const RunRequest& request, const Error& error) {
    return failed == SourceChoice::perf && may_do_without(request, error) && counters::model::built();
}

/// Every decided source in turn.
Result<> add_all_counts(const RunRequest& request, const Setup& setup, counters::Workload& workload, std::uint64_t iterations,
                        const OnProgress& on_progress, Measured& measured) {
    for (const auto choice : setup.decision.sources) {
        if (choice == SourceChoice::none) continue;
        auto added = add_counts(choice, request, setup, workload, iterations, on_progress, measured);
        if (!added && can_model_instead(choice, request, added.error())) {
            measured.why_source = added.error().what;
            added = add_counts(SourceChoice::model, request, setup, workload, iterations, on_progress, measured);
        }
        if (!added && may_do_without(request, added.error()))
            measured.warnings.push_back(without_tree(added.error()));
        else if (!added)
            return pass_on(added);
    }
    return {};
}

}  // namespace

Result<Measured> measure_kernel(const RunRequest& request, const Setup& setup, const Point& point,
                                const TimingRequest& timing_request, const OnProgress& on_progress) {
    auto measured = measure_in_turn(request, setup, {point}, timing_request, on_progress);
    if (!measured) return pass_on(measured);
    return std::move(measured->front());
}

Result<std::vector<Measured>> measure_in_turn(const RunRequest& request, const Setup& setup, const std::vector<Point>& points,
                                              const TimingRequest& timing_request, const OnProgress& on_progress) {
    auto built = build(setup, points);
    if (!built) return pass_on(built);
    const auto timings = time_built(setup, *built, points, timing_request, on_progress);
    if (!timings) return pass_on(timings);
    std::vector<Measured> all;
    for (std::size_t index = 0; index < points.size(); ++index) {
        auto& [workload, measured] = (*built)[index];
        std::uint64_t iterations = 1 << 20;
        if (points[index].runs_here) {
            iterations = (*timings)[index].iterations;
            add_timing(points[index], (*timings)[index], workload->kernel().per_iteration(), points.size() > 1, measured);
            const auto added = add_software_events(*workload, iterations, request, 1, {}, measured);
            if (!added) return pass_on(added);
            for (auto& event : monitor(*workload, iterations, request.resctrl_root)) measured.run.events.push_back(std::move(event));
        } else {
            measured.run.time.operation = points[index].kernel->operation;
            measured.run.time.reason = fmt::format("this CPU lacks the instructions of variant {}", points[index].variant.name);
        }
        const auto counted = add_all_counts(request, setup, *workload, iterations, on_progress, measured);
        if (!counted) return pass_on(counted);
        all.push_back(std::move(measured));
    }
    return all;
}

}  // namespace tmaprobe::experiments
