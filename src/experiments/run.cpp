#include "experiments/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/measure.h"
#include "experiments/setup.h"

namespace tmaprobe::experiments {
namespace {

/// CPUs for the kernel's threads: the ones named, else allowed ones from the last downwards.
Result<std::vector<int>> choose_cpus(const RunRequest& request, const kernels::Descriptor& kernel,
                                     const machine::Topology& topology) {
    const int wanted = std::max({1, request.threads, kernel.min_threads});
    if (kernel.max_threads && wanted > kernel.max_threads)
        return fail(ErrorCode::bad_usage,
                    fmt::format("kernel {} runs with at most {} thread(s)", kernel.name, kernel.max_threads));
    std::vector<int> cpus = request.cpus;
    if (cpus.empty()) {
        cpus.push_back(machine::default_cpu(topology));
        for (auto place = topology.cpus.rbegin(); place != topology.cpus.rend(); ++place)
            if (place->allowed && place->cpu != cpus.front()) cpus.push_back(place->cpu);
    }
    if (static_cast<int>(cpus.size()) < wanted)
        return fail(request.cpus.empty() ? ErrorCode::unavailable : ErrorCode::bad_usage,
                    fmt::format("kernel {} needs {} CPUs, and {} {} to be had", kernel.name, wanted, cpus.size(),
                                cpus.size() == 1 ? "is" : "are"),
                    "fewer --threads, or more CPUs in --cpu");
    cpus.resize(static_cast<std::size_t>(wanted));
    return cpus;
}

Result<Point> choose_point(const RunRequest& request, const Setup& setup) {
    const auto kernel = kernels::find(request.kernel);
    if (!kernel) return pass_on(kernel);
    Point point;
    point.kernel = *kernel;

    auto variant = kernels::choose_variant(**kernel, request.variant, setup.host);
    const bool only_modelled = setup.decision.sources == std::vector{SourceChoice::model};
    if (!variant && variant.error().code == ErrorCode::unavailable && only_modelled) {
        // The tracer steps some instructions in software, so a model can still be made of it.
        for (const auto& candidate : (*kernel)->variants)
            if (candidate.name == request.variant && candidate.built) {
                variant = candidate;
                point.runs_here = false;
            }
    }
    if (!variant) return pass_on(variant);
    point.variant = std::move(*variant);

    const auto cpus = choose_cpus(request, **kernel, setup.topology);
    if (!cpus) return pass_on(cpus);
    point.parameters.cpus = *cpus;
    point.parameters.size_bytes = request.size_bytes;
    point.parameters.numa_node = request.numa_node;
    point.parameters.options = request.options;
    if (request.size_bytes && !(*kernel)->uses_memory)
        return fail(ErrorCode::bad_usage, "kernel " + request.kernel + " takes no --size");
    if (!request.pages.empty() && !(*kernel)->uses_memory)
        return fail(ErrorCode::bad_usage, "kernel " + request.kernel + " takes no --pages");
    return point;
}

void add_once(std::vector<record::Warning>& warnings, const std::vector<record::Warning>& more) {
    for (const auto& warning : more) {
        const bool known = std::any_of(warnings.begin(), warnings.end(), [&](const auto& old) {
            return old.id == warning.id && old.what == warning.what;
        });
        if (!known) warnings.push_back(warning);
    }
}

Result<> run_kernel(const RunRequest& request, const Setup& setup, const OnProgress& on_progress,
                    record::Record& record) {
    auto point = choose_point(request, setup);
    if (!point) return pass_on(point);
    const auto modes = request.pages.empty() ? std::vector<std::string>{"4k"} : request.pages;
    for (const auto& name : modes) {
        const auto mode = memory::parse_page_mode(name);
        if (!mode) return pass_on(mode);
        point->parameters.pages = *mode;
        TimingRequest timing;
        timing.repetitions = request.repetitions;
        auto measured = measure_kernel(request, setup, *point, timing, on_progress);
        if (!measured) return pass_on(measured);
        record.source = measured->source;
        record.runs.push_back(std::move(measured->run));
        add_once(record.warnings, measured->warnings);
    }
    return {};
}

Result<> run_command(const RunRequest& request, const Setup& setup, const OnProgress& on_progress,
                     record::Record& record) {
    auto measured = measure_command(request, setup, on_progress);
    if (!measured) return pass_on(measured);
    record.source = measured->source;
    record.runs.push_back(std::move(measured->run));
    add_once(record.warnings, measured->warnings);
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
    return record;
}

}  // namespace tmaprobe::experiments
