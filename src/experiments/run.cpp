#include "experiments/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/compare.h"
#include "experiments/measure.h"
#include "experiments/point.h"
#include "experiments/requirements.h"
#include "experiments/setup.h"
#include "experiments/variant_trial.h"

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

void add_runs(Measured& measured, record::Record& record) {
    if (!measured.why_source.empty()) record.extra["why_source"] = measured.why_source;
    record.runs.push_back(std::move(measured.run));
    for (auto& run : measured.further_runs) record.runs.push_back(std::move(run));
    add_once(record.warnings, measured.warnings);
}

/// For points that do not fit into memory together; their times then stand further apart.
Result<std::vector<Measured>> measure_one_by_one(const RunRequest& request, const Setup& setup, const std::vector<Point>& points,
                                                 const TimingRequest& timing, const OnProgress& on_progress) {
    std::vector<Measured> all;
    for (const auto& point : points) {
        auto measured = measure_kernel(request, setup, point, timing, on_progress);
        if (!measured) return pass_on(measured);
        all.push_back(std::move(*measured));
    }
    return all;
}

Result<> run_kernel(const RunRequest& request, const Setup& setup, const OnProgress& on_progress,
                    record::Record& record) {
    auto point = choose_point(request, setup);
    if (!point) return pass_on(point);
    const auto modes = request.pages.empty() ? std::vector{memory::page_modes().front().name} : request.pages;
    const auto needs = needs_of(*point, point->kernel->uses_memory ? modes : std::vector<std::string>{});
    if (!needs) return pass_on(needs);
    memory::ReservedPages reserved;
    if (request.reserve_pages) {
        auto pages = reserve_for(*needs, false, setup.host);
        if (!pages) return pass_on(pages);
        reserved = std::move(*pages);
    }
    if (const auto possible = check_needs(*needs, false); !possible) return pass_on(possible);
    if (const auto tried = choose_by_trial(request, setup, *point); !tried) return pass_on(tried);
    std::vector<Point> points;
    for (const auto& name : modes) {
        const auto mode = memory::parse_page_mode(name);
        if (!mode) return pass_on(mode);
        points.push_back(*point);
        points.back().parameters.pages = *mode;
    }
    TimingRequest timing;
    timing.repetitions = request.repetitions;
    auto measured = measure_in_turn(request, setup, points, timing, on_progress);
    if (!measured && points.size() > 1 && measured.error().code == ErrorCode::unavailable)
        measured = measure_one_by_one(request, setup, points, timing, on_progress);
    if (!measured) return pass_on(measured);
    for (auto& each : *measured) {
        record.source = each.source;
        add_runs(each, record);
    }
    if (!point->why_these_cpus.empty()) record.warnings.push_back({"quieter_cpu", point->why_these_cpus, "--cpu names one"});
    give_back(reserved, record);
    return {};
}

Result<> run_command(const RunRequest& request, const Setup& setup, const OnProgress& on_progress,
                     record::Record& record) {
    auto measured = measure_command(request, setup, on_progress);
    if (!measured) return pass_on(measured);
    record.source = measured->source;
    add_runs(*measured, record);
    if (measured->exit_status) record.extra["exit_status"] = *measured->exit_status;
    return {};
}

}  // namespace

Result<record::Record> run(const RunRequest& request, const machine::Host& host, const machine::Topology& topology,
                           const OnProgress& on_progress) {
    if (!request.kernel.empty()) {
        // A mistyped kernel is said before anything else is looked at.
        const auto known = kernels::find(request.kernel);
        if (!known) return pass_on(known);
    }
    const auto setup = set_up(request, host, topology);
    if (!setup) return pass_on(setup);
    record::Record record = start_record(request, *setup);
    const auto done = request.command.empty() && !request.kernel.empty() ? run_kernel(request, *setup, on_progress, record)
                                                                         : run_command(request, *setup, on_progress, record);
    if (!done) return pass_on(done);
    compare_page_modes(record);
    return record;
}

}  // namespace tmaprobe::experiments
