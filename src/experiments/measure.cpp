#include "experiments/measure.h"
#include "experiments/further_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/sizes.h"
#include "base/suggest.h"
#include "counters/perf/perf.h"
#include "events/clock_limits.h"
#include "experiments/count_warnings.h"
#include "experiments/counting.h"
#include "experiments/measure_parts.h"
#include "experiments/monitoring.h"
#include "experiments/regions.h"
#include "experiments/timed_workload.h"
#include "experiments/tree_of_counts.h"
#include "experiments/where.h"
#include "experiments/workloads.h"
#include "judge/assess.h"
#include "judge/clock_check.h"
#include "judge/pmus.h"
#include "judge/timing_warnings.h"
#include "machine/event_sources.h"
#include "timing/canary.h"

namespace tmaprobe::experiments {
namespace {

template <class Item>
void append(std::vector<Item>& items, const std::vector<Item>& more) {
    items.insert(items.end(), more.begin(), more.end());
}

/// What is to be counted, and in what units some of it comes.
struct WhatToCount {
    counters::Plan plan;
    std::map<std::string, EventUnit> units;
};

/// What only the kernel of this machine counts, no model of a core and no table of one.
bool is_of_this_machine(const counters::PlannedEvent& event) {
    const std::string& pmu = event.definition.pmu;
    return pmu == "tracepoint" || pmu == "hardware" || pmu == "hw_cache" || !machine::system_wide_cpus(pmu).empty();
}

Result<WhatToCount> plan_for(const counters::CounterSource& source, const CountingRequest& request,
                             const Setup& setup) {
    auto further = TRY(further_events(*setup.table, request.events));
    std::string left_out;
    if (source.traits().status == record::Status::modelled)
        std::erase_if(further.events, [&](const counters::PlannedEvent& event) {
            if (!is_of_this_machine(event)) return false;
            left_out += (left_out.empty() ? "" : ", ") + event.name;
            return true;
        });
    auto plan = TRY(counters::make_plan(*setup.table, setup.metrics, further.events, source.limits(), setup.constants,
                                        request.policy));
    keep_together(further.together, plan);
    append(plan.notes, further.notes);
    if (!left_out.empty())
        plan.notes.push_back({"event_not_modelled", left_out + ": not counted, the model knows nothing of it",
                              "--source none counts what needs no PMU of a core"});
    plan.level = request.level;
    plan.user = request.count_user;
    plan.kernel = request.count_kernel;
    return WhatToCount{std::move(plan), std::move(further.units)};
}

/// A second source's values stand beside the first's.
void add_beside(const std::vector<record::Metric>& metrics, record::Run& run) {
    run.extra.beside.clear();
    for (const auto& metric : metrics) {
        const bool shown = has_value(metric);
        run.extra.beside.push_back({metric.name, shown ? metric.value : NAN, shown ? metric.low : NAN,
                                    shown ? metric.high : NAN, metric.status, metric.reason});
    }
}

/// Somebody took the counters between the check and the end. A kernel can go on with another source; a command has
/// run, and is not run again for this: its record has its time, and says why it has no more.
Result<> say_counters_lost(bool kernel, const Setup& setup, const Counted& counted, MeasuredRun& measured) {
    const auto why = counters_lost(setup.host);
    if (kernel) return fail(ErrorCode::unavailable, why.what, why.hint);
    std::erase_if(measured.warnings, [](const auto& warning) { return warning.id == "not_counted"; });
    measured.warnings.push_back({text_of(why.cause), why.what, why.hint});
    measured.source = {record::SourceKind::none, setup.table->cpu_id, ""};
    measured.why_source = why.what;
    measured.run.events.insert(measured.run.events.end(), counted.events.begin(), counted.events.end());
    return {};
}

/// Against the run of the command by itself that came before.
Result<> judge_by_clock(const CountingRequest& request, const std::vector<CommandRun>& runs, record::ClockCheck& check,
                        std::vector<record::Warning>& warnings) {
    for (const auto& one : runs)
        if (!one.traced && one.exit_status == 0 && (check.measured_ns == 0 || one.user_ns < check.measured_ns))
            check.measured_ns = one.user_ns;
    if (check.measured_ns <= 0) return {};
    check.ratio = check.modelled_ns / check.measured_ns;
    const auto limits = TRY(events::read_clock_limits(request.library));
    if (auto doubtful = judge::judge_clock(limits, check)) warnings.push_back(std::move(*doubtful));
    return {};
}

Result<> judge_kernel_by_clock(const CountingRequest& request, record::Run& run,
                               std::vector<record::Warning>& warnings) {
    const auto limits = TRY(events::read_clock_limits(request.library));
    if (auto doubtful = judge::judge_kernel_clock(limits, run.time, *run.extra.model))
        warnings.push_back(std::move(*doubtful));
    return {};
}

}  // namespace

Result<> add_counts(counters::CounterSource& source, const CountingRequest& request, const RepeatRequest& repeat,
                    const Setup& setup, counters::Workload& workload, std::uint64_t iterations,
                    const OnProgress& on_progress, MeasuredRun& measured) {
    const auto [plan, units] = TRY(plan_for(source, request, setup));
    // Without anything else to count, what was named is waited for, and the kernel's own events count.
    if (plan.passes.empty() && workload.only_waits())
        return add_software_events(workload, iterations, request, setup, 1, on_progress, measured);
    const counters::SourceTraits traits = source.traits();
    const bool kernel = workload.command().empty() && !workload.only_waits();
    const int repetitions = !traits.repeats ? 1 : repeat.repetitions ? repeat.repetitions : kernel ? 5 : 1;
    auto counted = TRY(count(source, workload, plan, iterations, repetitions, on_progress));

    append(measured.warnings, counted.warnings);
    append(measured.command_runs, counted.runs);
    if (counted.nothing_seen) {
        // What was sampled says why there is nothing more than the kernel's own events.
        append(measured.run.events, counted.events);
        if (counted.model && counted.model->sampling) measured.run.extra.model = std::move(counted.model);
        if (counted.regions)
            measured.run.extra.regions = TRY(regions_of(setup, *counted.regions, {}, measured.warnings));
        return {};
    }
    if (nothing_was_counted(counted.events)) return say_counters_lost(kernel, setup, counted, measured);

    // A CPU may be idle, a process may sleep, and both may be in the kernel alone; what we start executes instructions.
    const bool ours = request.scope.kind == counters::Scope::Kind::this_thread ||
                      request.scope.kind == counters::Scope::Kind::command;
    if (ours && request.count_user) say_impossible_zeros(*setup.table, counted, measured.warnings);

    judge::AssessRequest assessment;
    assessment.metrics = setup.metrics;
    assessment.constants = setup.constants;
    assessment.status = traits.status;
    assessment.repetitions = counted.repetitions;
    assessment.variations = counted.variations;
    for (const auto& latency : counted.latencies) assessment.latencies.push_back(counters::latency_of(latency));
    const auto pmus = judge::pmus_of(counted.events);
    auto tree = TRY(tree_of_counts(setup, counted, assessment, pmus.front()));

    append(measured.warnings, plan.notes);
    if (auto split = say_split(plan, tree.metrics)) measured.warnings.push_back(std::move(*split));
    if (traits.status == record::Status::measured && !plan.latencies.empty())
        append(measured.warnings, say_latencies(*setup.table, setup.constants, tree.metrics, assessment.latencies));
    auto& run = measured.run;
    // Of two, the first has the tree: what the other says stands beside it.
    if (run.metrics.empty())
        measured.source = counted.source;
    else
        measured.source.calibrated = counted.source.calibrated;
    if (counted.perf) run.extra.perf = std::move(counted.perf);
    if (!assessment.latencies.empty()) {
        if (!run.extra.perf) run.extra.perf.emplace();
        run.extra.perf->retire_latencies = assessment.latencies;
    }
    if (counted.model) run.extra.model = std::move(counted.model);
    if (run.extra.model && run.extra.model->clock_check) {
        if (kernel)
            TRY(judge_kernel_by_clock(request, run, measured.warnings));
        else
            TRY(judge_by_clock(request, measured.command_runs, *run.extra.model->clock_check, measured.warnings));
    }
    if (counted.attribution) {
        run.extra.where = where_of(*counted.attribution, measured.warnings);
        name_region(request.attribute_in, *run.extra.where, measured.warnings);
    }
    if (counted.regions)
        add_regions_of_source(TRY(regions_of(setup, *counted.regions, assessment, measured.warnings)),
                              run.extra.regions);
    if (!run.metrics.empty()) {
        add_beside(tree.metrics, run);
        return {};
    }
    const record::Run without_tree = run;
    if (!pmus.front().empty()) run.parameters.pmu = pmus.front();
    add_tree(std::move(tree), run);
    append(run.metrics, in_units(units, counted.events));
    for (std::size_t index = 1; index < pmus.size(); ++index) {
        auto further = TRY(tree_of_counts(setup, counted, assessment, pmus[index]));
        measured.further_runs.push_back(without_tree);
        measured.further_runs.back().parameters.pmu = pmus[index];
        add_tree(std::move(further), measured.further_runs.back());
    }
    return {};
}

namespace {

/// What the bus to memory moves at the program's rate if no cache holds the data: stores fetch their lines.
void add_bus_bytes(const kernels::Work& work, record::Run& run) {
    const double rate = run.time.bytes_per_second.median;
    if (work.bytes > 0 && work.bus_bytes > 0 && rate > 0)
        run.extra.bus_bytes_per_second = rate * work.bus_bytes / work.bytes;
}

record::Run described(const KernelRun& point, const kernels::Kernel& kernel) {
    record::Run run;
    run.kernel = point.kernel->name;
    run.variant = point.variant.name;
    run.parameters.options = kernel.parameters();
    for (const char* has_its_place : {"size_bytes", "threads"}) run.parameters.options.erase(has_its_place);
    run.parameters.derived = kernels::derived_names(*point.kernel, run.parameters.options);
    if (point.kernel->uses_memory) {
        run.parameters.size_bytes =
            point.parameters.size_bytes ? point.parameters.size_bytes : point.kernel->default_size;
        record::Pages pages;
        pages.requested = value_named<record::PageKind>(point.parameters.pages.name).value_or(record::PageKind::none);
        pages.obtained_bytes = kernel.obtained_pages();
        run.pages = std::move(pages);
    }
    run.parameters.threads = point.parameters.cpus.size();
    run.parameters.cpus = point.parameters.cpus;
    run.extra.variant_trial = point.variant_trial;
    return run;
}

/// A transparent huge page mode that came out partly small is not what was asked for.
void add_page_warning(const KernelRun& point, const record::Run& run, std::vector<record::Warning>& warnings) {
    if (!run.pages) return;
    const std::string base = format_page_size(memory::base_page_bytes());
    std::uint64_t total = 0, small = 0;
    for (const auto& [size, bytes] : run.pages->obtained_bytes) {
        total += bytes;
        if (size == base) small += bytes;
    }
    if (point.parameters.pages.name.empty() || point.parameters.pages.name == base || total == 0 || small == 0) return;
    warnings.push_back(
        {"partly_small_pages",
         fmt::format("--pages {}: {:.0f}% of the memory came out in pages of {}", name_of(run.pages->requested),
                     100.0 * static_cast<double>(small) / static_cast<double>(total), base),
         "--pages 2m takes reserved huge pages and refuses less"});
}

/// Huge pages whose translations are split by the hypervisor save walks, not misses: that is said.
void add_effective_pages(const timing::EffectivePages& effective, MeasuredRun& measured) {
    auto& pages = measured.run.pages;
    if (!pages) return;
    pages->effective = value_named<record::PageKind>(effective.name).value_or(record::PageKind::none);
    measured.run.extra.effective_pages = effective.why;
    if (pages->requested != record::PageKind::size_4k && pages->effective == record::PageKind::size_4k)
        measured.warnings.push_back({"split_huge_pages",
                                     fmt::format("--pages {}: {}", name_of(pages->requested), effective.why),
                                     "knees stay where they are with 4k pages; only the host can map this machine with "
                                     "huge pages; without a calibration the model takes the "
                                     "guest's page sizes: --assume-pages 4k models what this machine does"});
    const bool all_huge =
        !pages->obtained_bytes.empty() && !pages->obtained_bytes.contains(format_page_size(memory::base_page_bytes()));
    if (effective.name.empty() && all_huge)
        measured.warnings.push_back(
            {"unknown_effective_pages",
             fmt::format("--pages {}: whether the TLB holds entries that large is not known: {}",
                         name_of(pages->requested), effective.why),
             "knees are predicted as if it did; finding out takes some huge pages beside the kernel's own"});
}

/// The user named no source: what was timed is worth having even if no source gives a tree.
bool may_do_without(const Decision& decision, const Error& error) {
    return decision.tree_is_optional &&
           (error.code == ErrorCode::unavailable || error.code == ErrorCode::no_permission);
}

record::Warning without_tree(const Error& error) { return {"no_tree", "no top-down tree: " + error.what, error.hint}; }

/// A kernel in its memory, with the beginning of its run.
struct Built {
    std::unique_ptr<KernelWorkload> workload;
    MeasuredRun measured;
};

/// Binds this thread and builds all kernels. The page sizes are found out first, while the memory for that
/// is still free.
Result<std::vector<Built>> build(const Setup& setup, const std::vector<KernelRun>& points) {
    const auto& cpus = points.front().parameters.cpus;
    if (!cpus.empty()) {
        TRY(machine::pin_this_thread(cpus.front()));
    }
    std::vector<timing::EffectivePages> effective;
    for (const auto& point : points) {
        const bool to_be_found = !point.effective && point.kernel->uses_memory && point.runs_here;
        effective.push_back(
            to_be_found ? timing::effective_pages(setup.host, point.parameters.pages, point.parameters.numa_node)
                        : point.effective.value_or(timing::EffectivePages{}));
    }
    std::vector<Built> built;
    for (std::size_t index = 0; index < points.size(); ++index) {
        auto kernel = TRY(points[index].kernel->make(points[index].variant.name, points[index].parameters));
        Built each{std::make_unique<KernelWorkload>(std::move(kernel)), {}};
        each.measured.run = described(points[index], each.workload->kernel());
        each.measured.source = {record::SourceKind::none, setup.table ? setup.table->cpu_id : "", setup.decision.why};
        add_page_warning(points[index], each.measured.run, each.measured.warnings);
        add_effective_pages(effective[index], each.measured);
        built.push_back(std::move(each));
    }
    return built;
}

/// Empty when this CPU cannot run the variant (then it can run it at no point).
Result<std::vector<timing::Timing>> time_built(const Setup& setup, const std::vector<Built>& built,
                                               const std::vector<KernelRun>& points,
                                               const timing::TimingRequest& request, const OnProgress& on_progress) {
    if (!points.front().runs_here) return std::vector<timing::Timing>{};
    const auto clock = counters::make_clock_source();
    const timing::Bracket canary = timing::canary_bracket(setup.host);
    std::vector<timing::Contestant> contestants;
    for (const auto& [workload, measured] : built)
        contestants.push_back(
            {timed_region(*clock, *workload),
             timing::watch_threads(canary, workload->kernel().threads(), points.front().parameters.cpus)});
    const bool in_turn = contestants.size() > 1;
    const auto on_repetition = [&](double share) {
        if (on_progress)
            on_progress({in_turn ? "timing page modes in turn, until their medians are tight"
                                 : "timing, until the median is tight",
                         share,
                         {},
                         ProgressOf::step});
    };
    if (in_turn) return timing::time_in_turn(contestants, request, on_repetition);
    auto timing =
        TRY(timing::time_region(contestants.front().region, contestants.front().bracket, request, on_repetition));
    return std::vector<timing::Timing>{std::move(timing)};
}

void add_timing(const KernelRun& point, const timing::Timing& timing, const kernels::Work& work, bool one_of_several,
                MeasuredRun& measured) {
    measured.run.time = timing::summarize_timing(timing, {work.operations, work.bytes}, point.kernel->operation);
    add_bus_bytes(work, measured.run);
    measured.run.extra.repetitions = repetitions_of(timing, work.operations);
    judge::add_timing_warnings(measured.run.time, one_of_several ? "--pages " + point.parameters.pages.name + ": " : "",
                               measured.warnings);
}

/// Makes one of the decided sources and counts with it.
Result<> add_counts_of(SourceChoice choice, const CountingRequest& request, const RepeatRequest& repeat,
                       const Setup& setup, counters::Workload& workload, std::uint64_t iterations,
                       const OnProgress& on_progress, MeasuredRun& measured) {
    const auto source = TRY(make_source(choice, request, setup));
    return add_counts(*source, request, repeat, setup, workload, iterations, on_progress, measured);
}

/// Every decided source in turn.
Result<> add_all_counts(const CountingRequest& request, const RepeatRequest& repeat, const Setup& setup,
                        counters::Workload& workload, std::uint64_t iterations, const OnProgress& on_progress,
                        MeasuredRun& measured) {
    for (const auto choice : setup.decision.sources) {
        if (choice == SourceChoice::none) continue;
        auto added = add_counts_of(choice, request, repeat, setup, workload, iterations, on_progress, measured);
        if (!added && setup.decision.instead && may_do_without(setup.decision, added.error())) {
            measured.why_source = added.error().what;
            added = add_counts_of(*setup.decision.instead, request, repeat, setup, workload, iterations, on_progress,
                                  measured);
        }
        if (!added && may_do_without(setup.decision, added.error()))
            measured.warnings.push_back(without_tree(added.error()));
        else if (!added)
            return pass_on(added);
    }
    return {};
}

}  // namespace

Result<MeasuredRun> measure_kernel(const CountingRequest& request, const RepeatRequest& repeat, const Setup& setup,
                                   const KernelRun& point, const timing::TimingRequest& timing_request,
                                   const OnProgress& on_progress) {
    auto measured = TRY(measure_in_turn(request, repeat, setup, {point}, timing_request, on_progress));
    return std::move(measured.front());
}

Result<std::vector<MeasuredRun>> measure_in_turn(const CountingRequest& request, const RepeatRequest& repeat,
                                                 const Setup& setup, const std::vector<KernelRun>& points,
                                                 const timing::TimingRequest& timing_request,
                                                 const OnProgress& on_progress) {
    auto built = TRY(build(setup, points));
    const auto timings = TRY(time_built(setup, built, points, timing_request, on_progress));
    std::vector<MeasuredRun> all;
    for (std::size_t index = 0; index < points.size(); ++index) {
        auto& [workload, measured] = (built)[index];
        std::uint64_t iterations = 1 << 20;
        if (points[index].runs_here) {
            iterations = (timings)[index].iterations;
            add_timing(points[index], (timings)[index], workload->kernel().per_iteration(), points.size() > 1,
                       measured);
            TRY(add_software_events(*workload, iterations, request, setup, 1, {}, measured));
            for (auto& event : monitor(*workload, iterations, request.resctrl_root))
                measured.run.events.push_back(std::move(event));
        } else {
            measured.run.time.operation = points[index].kernel->operation;
            measured.run.time.reason =
                fmt::format("this CPU lacks the instructions of variant {}", points[index].variant.name);
        }
        TRY(add_all_counts(request, repeat, setup, *workload, iterations, on_progress, measured));
        for (auto& warning : measured.warnings)
            if (points.size() > 1 && warning.id == "model_doubtful")
                warning.what = fmt::format("--pages {}: {}", points[index].parameters.pages.name, warning.what);
        all.push_back(std::move(measured));
    }
    return all;
}

}  // namespace tmaprobe::experiments
