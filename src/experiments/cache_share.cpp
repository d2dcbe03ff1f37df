#include "experiments/cache_share.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/sizes.h"
#include "counters/source.h"
#include "experiments/timed_workload.h"
#include "experiments/workloads.h"
#include "kernels/kernel.h"
#include "machine/topology.h"
#include "timing/timing.h"

namespace tmaprobe::experiments {
namespace {

/// ns per load of a random chase over `size` bytes of small pages.
Result<double> chase_ns(std::uint64_t size, bool refresh, int cpu, const timing::TimingRequest& timing) {
    const auto kernel = TRY(kernels::find("chase"));
    const auto pages = TRY(memory::parse_page_mode("4k"));
    kernels::Parameters parameters;
    parameters.size_bytes = size;
    parameters.pages = pages;
    parameters.cpus = {cpu};
    parameters.options["refresh"] = refresh ? "yes" : "no";
    auto instance = TRY(kernel->make(kernel->variants.front().name, parameters));
    KernelWorkload workload(std::move(instance));
    const auto clock = counters::make_clock_source();
    const auto timed = TRY(timing::time_region(timed_region(*clock, workload), {}, timing, {}));
    return timing::summarize_timing(timed, {workload.kernel().per_iteration().operations}, "load").ns_per_op.median;
}

}  // namespace

const machine::Cache* last_level(const machine::Host& host) {
    const machine::Cache* last = nullptr;
    for (const auto& cache : host.caches)
        if (cache.kind != "instruction" && cache.level >= 3 && (!last || cache.level > last->level)) last = &cache;
    return last;
}

std::uint64_t effective_share(const std::vector<record::SharePoint>& points, double memory_ns) {
    std::uint64_t effective = 0;
    for (const auto& point : points) {
        if (point.kept_ns > std::sqrt(point.refreshed_ns * memory_ns)) break;
        effective = point.size_bytes;
    }
    return effective;
}

bool impossible(const record::CacheShare& share) {
    constexpr double doubt = 1.5;  // memory's own latency varies by less from block to block
    return std::any_of(share.points.begin(), share.points.end(), [&](const auto& point) {
        return std::max(point.kept_ns, point.refreshed_ns) > doubt * share.memory_ns;
    });
}

std::string describe(const record::CacheShare& share) {
    const std::string cache = format_size(share.cache_bytes);
    if (share.effective_bytes == 0)
        return fmt::format("Of the last-level cache ({}) not even an eighth stays cached while it is used", cache);
    return fmt::format("Of the last-level cache ({}) blocks up to {} stay cached while they are used", cache,
                       format_size(share.effective_bytes));
}

Result<record::CacheShare> measure_cache_share(const machine::Host& host, int cpu) {
    const auto* cache = last_level(host);
    if (!cache) return fail(ErrorCode::unavailable, "no last-level cache is known on this machine");
    TRY(machine::pin_this_thread(cpu));

    timing::TimingRequest laps, bursts;
    laps.repetitions = bursts.repetitions = 5;
    laps.repetition_ns = 12e6;
    bursts.repetition_ns = 1e6;  // short, so that neighbours have no time to evict what was just read

    record::CacheShare share;
    share.cache_bytes = cache->size_bytes;
    constexpr std::uint64_t page = 4096;
    const auto memory = TRY(chase_ns(cache->size_bytes * 3 / page * page, false, cpu, laps));
    share.memory_ns = memory;
    for (const int eighths : {1, 2, 3, 4, 6, 8}) {
        record::SharePoint point;
        point.size_bytes = cache->size_bytes * static_cast<std::uint64_t>(eighths) / 8 / page * page;
        const auto kept = TRY(chase_ns(point.size_bytes, false, cpu, laps));
        const auto refreshed = TRY(chase_ns(point.size_bytes, true, cpu, bursts));
        point.kept_ns = kept;
        point.refreshed_ns = refreshed;
        share.points.push_back(point);
    }
    if (impossible(share))
        return fail(ErrorCode::unavailable, "a cached block took longer than memory: other work took this CPU's time",
                    "try again at a quiet time");
    share.effective_bytes = effective_share(share.points, share.memory_ns);
    return share;
}

}  // namespace tmaprobe::experiments
