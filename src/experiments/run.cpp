#include "experiments/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/basic_metrics.h"
#include "experiments/kernel_run.h"
#include "experiments/measure.h"
#include "experiments/requirements.h"
#include "experiments/setup.h"
#include "experiments/system_metrics.h"
#include "experiments/variant_trial.h"
#include "judge/compare.h"

namespace tmaprobe::experiments {
namespace {

void add_once(std::vector<record::Warning>& warnings, const std::vector<record::Warning>& more) {
    for (const auto& warning : more) {
        const bool known = std::any_of(warnings.begin(), warnings.end(), [&](const auto& old) {
            return old.id == warning.id && old.what == warning.what;
        });
        if (!known) warnings.push_back(warning);
    }
}

void add_runs(MeasuredRun& measured, record::Record& record) {
    if (!measured.why_source.empty()) record.extra.why_source = measured.why_source;
    record.runs.push_back(std::move(measured.run));
    for (auto& run : measured.further_runs) record.runs.push_back(std::move(run));
    add_once(record.warnings, measured.warnings);
}

/// For points that do not fit into memory together; their times then stand further apart.
Result<std::vector<MeasuredRun>> measure_one_by_one(const RunRequest& request, const Setup& setup,
                                                    const std::vector<KernelRun>& points,
                                                    const timing::TimingRequest& timing,
                                                    const OnProgress& on_progress) {
    std::vector<MeasuredRun> all;
    for (const auto& point : points) {
        auto measured = TRY(measure_kernel(request.counting, request.repeat, setup, point, timing, on_progress));
        all.push_back(std::move(measured));
    }
    return all;
}

Result<> run_kernel(const RunRequest& request, const Setup& setup, const OnProgress& on_progress,
                    record::Record& record) {
    auto point = TRY(choose_kernel_run(request.workload, setup));
    const auto modes =
        request.workload.pages.empty() ? std::vector{memory::page_modes().front().name} : request.workload.pages;
    const auto needs = TRY(needs_of(point, point.kernel->uses_memory ? modes : std::vector<std::string>{}));
    memory::ReservedPages reserved;
    if (request.workload.reserve_pages) {
        auto pages = TRY(reserve_for(needs, false, setup.host));
        reserved = std::move(pages);
    }
    TRY(check_needs(needs, false));
    TRY(choose_by_trial(request.workload, setup, point));
    std::vector<KernelRun> points;
    for (const auto& name : modes) {
        const auto mode = TRY(memory::parse_page_mode(name));
        points.push_back(point);
        points.back().parameters.pages = mode;
    }
    timing::TimingRequest timing;
    timing.repetitions = request.repeat.repetitions;
    auto measured = measure_in_turn(request.counting, request.repeat, setup, points, timing, on_progress);
    if (!measured && points.size() > 1 && measured.error().code == ErrorCode::unavailable)
        measured = measure_one_by_one(request, setup, points, timing, on_progress);
    if (!measured) return pass_on(measured);
    for (auto& each : *measured) {
        record.source = each.source;
        add_runs(each, record);
    }
    if (!point.why_these_cpus.empty())
        record.warnings.push_back({"quieter_cpu", point.why_these_cpus, "--cpu names one"});
    give_back(reserved, record);
    return {};
}

Result<> run_command(const RunRequest& asked, const Setup& setup, const OnProgress& on_progress,
                     record::Record& record) {
    RunRequest request = asked;
    // What every CPU can say is counted without asking, above the tree.
    const auto basics = TRY(events::read_basic_metrics(request.counting.library));
    const bool has_counters = setup.decision.counts() || (!setup.table && setup.host.pmu.counts);
    if (has_counters && request.counting.source != SourceChoice::none)
        for (auto& pair : countable_pairs(basics, setup.table ? *setup.table : events::Table{}))
            request.counting.events.push_back(std::move(pair));
    const auto& wanted = request.counting.system_metrics;
    std::vector<events::SystemMetric> known;
    if (!wanted.empty()) known = TRY(events::read_system_metrics(request.counting.library));
    const auto further = TRY(events_of_system_metrics(known, wanted));
    request.counting.events.insert(request.counting.events.end(), further.begin(), further.end());
    auto measured = TRY(measure_command(request, setup, on_progress));
    for (auto& metric : system_metrics(known, wanted, measured.run.events, setup.host))
        measured.run.metrics.push_back(std::move(metric));
    if (measured.source.kind == record::SourceKind::perf) {
        add_basic_metrics(basics, measured.run);
        for (auto& further_run : measured.further_runs) add_basic_metrics(basics, further_run);
    }
    record.source = measured.source;
    add_runs(measured, record);
    if (measured.exit_status) record.extra.exit_status = measured.exit_status;
    return {};
}

}  // namespace

Result<Setup> set_up_run(const RunRequest& request, const machine::Host& host, const machine::Topology& topology) {
    if (!request.workload.kernel.empty() && !request.counting.system_metrics.empty())
        return fail(ErrorCode::bad_usage,
                    "--metric " + request.counting.system_metrics.front() +
                        " is of the whole machine: it is counted beside a command, a process or CPUs",
                    "tmaprobe -a --metric " + request.counting.system_metrics.front());
    if (!request.workload.kernel.empty()) {
        // A mistyped kernel is said before anything else is looked at.
        TRY(kernels::find(request.workload.kernel));
    }
    return set_up(request.counting, host, topology);
}

Result<record::Record> run(const RunRequest& request, const Setup& setup, const OnProgress& on_progress) {
    record::Record record = start_record(request.command_line, setup);
    TRY(request.workload.command.empty() && !request.workload.kernel.empty()
            ? run_kernel(request, setup, on_progress, record)
            : run_command(request, setup, on_progress, record));
    const bool attributed = std::any_of(record.runs.begin(), record.runs.end(),
                                        [](const auto& one) { return one.extra.where.has_value(); });
    if (request.counting.attribute && !attributed)
        record.warnings.push_back({"where_unknown", "which code takes the slots is not known: nothing was modelled",
                                   "the other messages say why"});
    judge::compare_page_modes(record);
    return record;
}

Result<record::Record> run(const RunRequest& request, const machine::Host& host, const machine::Topology& topology,
                           const OnProgress& on_progress) {
    const auto setup = TRY(set_up_run(request, host, topology));
    return run(request, setup, on_progress);
}

}  // namespace tmaprobe::experiments
