#include "experiments/variant_trial.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/statistics.h"
#include "judge/rank_test.h"

namespace tmaprobe::experiments {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_ns(Clock::time_point since) {
    return std::chrono::duration<double, std::nano>(Clock::now() - since).count();
}

/// Binds the calling thread for a moment.
class Bound {
  public:
    Bound() : known_(::sched_getaffinity(0, sizeof old_, &old_) == 0) {}
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;
    ~Bound() {
        if (known_) ::sched_setaffinity(0, sizeof old_, &old_);
    }

  private:
    cpu_set_t old_{};
    bool known_;
};

/// The variants in turns, each on every slice once in the end: slice by slice through the block, beginning with another
/// variant in each lap.
std::vector<VariantTimes> time_in_turns(kernels::VariantTrial& trial, const std::vector<std::string>& names) {
    constexpr double budget_ns = 60e6;
    constexpr std::size_t least_laps = 1;
    std::vector<VariantTimes> times;
    for (const auto& name : names) times.push_back({name, {}});
    const auto begin = Clock::now();
    for (std::size_t lap = 0; lap < names.size() && (lap < least_laps || elapsed_ns(begin) < budget_ns); ++lap)
        for (std::size_t slice = 0; slice < trial.slices(); ++slice) {
            const std::size_t variant = (slice + lap) % names.size();
            const auto start = Clock::now();
            trial.run(variant, slice);
            times[variant].ns.push_back(elapsed_ns(start));
        }
    return times;
}

std::vector<record::TriedVariant> figures(const std::vector<VariantTimes>& times, double slice_bytes) {
    std::vector<record::TriedVariant> list;
    for (const auto& [variant, ns] : times) {
        std::vector<double> rates;
        for (const double each : ns) rates.push_back(slice_bytes / std::max(1.0, each) * 1e9);
        const Summary rate = summarize(rates);
        list.push_back({variant, rate.count, rate.median, rate.low, rate.high});
    }
    return list;
}

/// The one that would be taken without a trial, then the others that this CPU can run, the widest first. Scalar loops
/// are none of them: they are far from what memory gives.
std::vector<std::string> candidates_of(const KernelRun& point, const machine::Host& host) {
    std::vector<std::string> names{point.variant.name};
    constexpr int least_vector = 16;
    for (const auto& variant : kernels::runnable_variants(*point.kernel, host))
        if (variant.vector_bytes >= least_vector && variant.name != point.variant.name) names.push_back(variant.name);
    return names;
}

/// Large enough to be like the whole block, and no larger: memory takes time to be had.
std::uint64_t trial_size(const machine::Host& host, std::uint64_t size_bytes) {
    std::uint64_t last_level = 0;
    for (const auto& cache : host.caches) last_level = std::max(last_level, cache.size_bytes);
    constexpr std::uint64_t enough = std::uint64_t{256} << 20;
    return std::min(size_bytes, std::max(enough, 2 * last_level));
}

}  // namespace

std::string fastest_variant(const std::vector<VariantTimes>& times) {
    if (times.empty()) return {};
    constexpr double worth_it = 0.98;
    const VariantTimes* best = &times.front();
    for (const auto& candidate : times)
        if (!candidate.ns.empty() && median(candidate.ns) < median(best->ns)) best = &candidate;
    if (best == &times.front()) return best->variant;
    const judge::Ratio ratio = judge::compare_ranks(times.front().ns, best->ns);
    return ratio.differs() && ratio.value < worth_it ? best->variant : times.front().variant;
}

bool beyond_last_level(const machine::Host& host, std::uint64_t size_bytes, std::size_t cpus) {
    const machine::Cache* last = nullptr;
    for (const auto& cache : host.caches)
        if (cache.kind != "instruction" && (!last || cache.level > last->level)) last = &cache;
    if (!last) return false;
    const std::uint64_t sharing = static_cast<std::uint64_t>(std::max(1, last->shared_by));
    return size_bytes > last->size_bytes / sharing * std::min<std::uint64_t>(sharing, std::max<std::size_t>(1, cpus));
}

Result<> choose_by_trial(const WorkloadRequest& request, const Setup& setup, KernelRun& point) {
    kernels::Parameters parameters = point.parameters;
    const std::uint64_t size = parameters.size_bytes ? parameters.size_bytes : point.kernel->default_size;
    const auto names = candidates_of(point, setup.host);
    // The table decides where it has a figure, and where the kernel wants vectors of any width (stores past the
    // caches).
    const bool table_says = setup.host.memory_vector_bytes > 0 ||
                            (point.kernel->widest_vector && point.kernel->widest_vector(parameters, setup.host) == 0 &&
                             setup.host.load_bytes > 0);
    const bool possible = request.variant.empty() && point.runs_here && point.kernel->make_trial && names.size() > 1;
    if (!possible || table_says || !beyond_last_level(setup.host, size, parameters.cpus.size())) return {};

    parameters.size_bytes = trial_size(setup.host, size) / 4096 * 4096;
    if (!request.pages.empty()) {
        parameters.pages = TRY(memory::parse_page_mode(request.pages.front()));
    }
    const Bound restored;
    if (!parameters.cpus.empty()) TRY(machine::pin_this_thread(parameters.cpus.front()));
    const auto trial = point.kernel->make_trial(names, parameters);
    if (!trial) {
        point.variant_trial = record::VariantChoice{point.variant.name, trial.error().what, {}, {}, {}};
        return {};
    }
    const auto begin = Clock::now();
    const auto times = time_in_turns(**trial, names);
    const double took_ns = elapsed_ns(begin);
    const std::string chosen = fastest_variant(times);
    point.variant_trial =
        record::VariantChoice{chosen, {}, parameters.size_bytes, took_ns, figures(times, (*trial)->slice_bytes())};
    for (const auto& variant : point.kernel->variants)
        if (variant.name == chosen) point.variant = variant;
    return {};
}

}  // namespace tmaprobe::experiments
