#include "experiments/point.h"

#include <fmt/format.h>

#include <algorithm>

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
    for (const int cpu : cpus)  // also those beyond the number of threads: a wrong list is a mistake
        if (const auto usable = machine::check_cpu(topology, cpu); !topology.cpus.empty() && !usable)
            return pass_on(usable);
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

}  // namespace

Result<Point> choose_point(const RunRequest& request, const Setup& setup) {
    const auto kernel = kernels::find(request.kernel);
    if (!kernel) return pass_on(kernel);
    Point point;
    point.kernel = *kernel;

    point.parameters.size_bytes = request.size_bytes;
    point.parameters.numa_node = request.numa_node;
    point.parameters.options = request.options;

    kernels::Parameters sized = point.parameters;
    if (sized.size_bytes == 0) sized.size_bytes = (*kernel)->default_size;
    auto variant = kernels::choose_variant(**kernel, request.variant, setup.host, sized);
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
    if (request.size_bytes && !(*kernel)->uses_memory)
        return fail(ErrorCode::bad_usage, "kernel " + request.kernel + " takes no --size");
    if (!request.pages.empty() && !(*kernel)->uses_memory)
        return fail(ErrorCode::bad_usage, "kernel " + request.kernel + " takes no --pages");
    return point;
}

}  // namespace tmaprobe::experiments
