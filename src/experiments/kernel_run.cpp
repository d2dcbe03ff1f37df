#include "experiments/kernel_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/cpu_choice.h"

namespace tmaprobe::experiments {
namespace {

/// CPUs for the kernel's threads with the reason where it is not the usual choice.
struct ChosenCpus {
    std::vector<int> cpus;
    std::string why;
};

/// The quietest of those that this process may use, from the default one and then the last downwards. More than a few
/// would take longer to look at than they are worth.
ChosenCpus choose_quiet(const Setup& setup, std::size_t wanted) {
    constexpr std::size_t most_looked_at = 8;
    std::vector<int> cpus{machine::default_cpu(setup.topology)};
    std::string kind;
    for (const auto& place : setup.topology.cpus)
        if (place.cpu == cpus.front()) kind = place.core_type;
    // Cores of one kind first, so that quietness does not choose another kind of core.
    for (const bool same_kind : {true, false})
        for (auto place = setup.topology.cpus.rbegin(); place != setup.topology.cpus.rend(); ++place)
            if (place->allowed && place->cpu != cpus.front() && (place->core_type == kind) == same_kind)
                cpus.push_back(place->cpu);
    const auto alike = static_cast<std::size_t>(std::ranges::count_if(
        setup.topology.cpus, [&](const auto& place) { return place.allowed && place.core_type == kind; }));
    const std::size_t looked_at =
        std::min({std::max(alike, std::size_t{1}), std::max(most_looked_at, wanted), cpus.size()});
    if (looked_at <= wanted || setup.host.is_emulated) return {std::move(cpus), {}};
    const auto limits = timing::canary_limits(setup.host);
    const auto looks = look_at_cpus({cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(looked_at)}, setup.host);
    const auto ordered = quietest_first(looks, limits);
    std::copy(ordered.begin(), ordered.end(), cpus.begin());
    return {cpus, why_chosen(cpus.front(), looks, limits)};
}

/// CPUs for the kernel's threads: the ones named, else the quietest.
Result<ChosenCpus> choose_cpus(const WorkloadRequest& request, const kernels::KernelDescriptor& kernel,
                               const Setup& setup, bool runs_here) {
    const auto& topology = setup.topology;
    const int wanted = std::max({1, request.threads, kernel.min_threads});
    if (kernel.max_threads && wanted > kernel.max_threads)
        return fail(ErrorCode::bad_usage,
                    fmt::format("kernel {} runs with at most {} thread(s)", kernel.name, kernel.max_threads));
    std::vector<int> cpus = request.cpus;
    std::string why;
    for (const int cpu : cpus)  // also those beyond the number of threads: a wrong list is a mistake
        if (const auto usable = machine::check_cpu(topology, cpu); !topology.cpus.empty() && !usable)
            return pass_on(usable);
    if (cpus.empty() && runs_here && topology.cpus.size() > 1) {
        auto chosen = choose_quiet(setup, static_cast<std::size_t>(wanted));
        cpus = std::move(chosen.cpus);
        why = std::move(chosen.why);
    } else if (cpus.empty()) {
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
    return ChosenCpus{std::move(cpus), std::move(why)};
}

}  // namespace

Result<KernelRun> choose_kernel_run(const WorkloadRequest& request, const Setup& setup) {
    const auto kernel = TRY(kernels::find(request.kernel));
    KernelRun point;
    point.kernel = kernel;

    point.parameters.size_bytes = request.size_bytes;
    point.parameters.numa_node = request.numa_node;
    point.parameters.options = request.options;

    kernels::Parameters sized = point.parameters;
    if (sized.size_bytes == 0) sized.size_bytes = kernel->default_size;
    auto variant = kernels::choose_variant(*kernel, request.variant, setup.host, sized);
    if (!variant && variant.error().code == ErrorCode::unavailable && setup.decision.only_models()) {
        // The tracer steps some instructions in software, so a model can still be made of it.
        for (const auto& candidate : kernel->variants)
            if (candidate.name == request.variant && candidate.built) {
                variant = candidate;
                point.runs_here = false;
            }
    }
    if (!variant) return pass_on(variant);
    point.variant = std::move(*variant);

    auto cpus = TRY(choose_cpus(request, *kernel, setup, point.runs_here));
    point.parameters.cpus = std::move(cpus.cpus);
    point.why_these_cpus = std::move(cpus.why);
    if (request.size_bytes && !kernel->uses_memory)
        return fail(ErrorCode::bad_usage, "kernel " + request.kernel + " takes no --size");
    if (!request.pages.empty() && !kernel->uses_memory)
        return fail(ErrorCode::bad_usage, "kernel " + request.kernel + " takes no --pages");
    return point;
}

}  // namespace tmaprobe::experiments
