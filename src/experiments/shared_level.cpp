#include "experiments/shared_level.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "kernels/kernel.h"

namespace tmaprobe::experiments {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double bytes_of_line = 64;

double ns_from(Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// The CPU goes on meanwhile: one that rests may lose what its own caches hold.
void wait(double ns) {
    for (const auto begin = Clock::now(); ns_from(begin) < ns;) continue;
}

/// A block that is read in any order, lap by lap. No look at the CPU stands between: others would go on meanwhile.
class Laps {
  public:
    static Result<Laps> of(std::uint64_t bytes, const memory::PageMode& pages, const machine::Host& host) {
        kernels::Parameters parameters;
        parameters.size_bytes = bytes;
        parameters.pages = pages;
        parameters.options["order"] = "random";
        parameters.options["chains"] = "12";
        const auto known = TRY(kernels::find("chase"));
        const auto variant = TRY(kernels::choose_variant(*known, {}, host, parameters));
        return Laps(TRY(known->make(variant.name, parameters)), static_cast<double>(bytes) / bytes_of_line);
    }

    /// What a load takes after so long a wait: the median of three. A block that comes from memory at first is read so
    /// slowly that others displace its first lines before its last ones come: it takes many laps until it is held.
    double load_ns(double idle_ns) {
        constexpr int tries = 3;
        constexpr double warm_ns = 30e6;
        for (const auto begin = Clock::now(); !warm_ && ns_from(begin) < warm_ns;) kernel_->run(lap_);
        warm_ = true;
        std::vector<double> times;
        for (int i = 0; i < tries; ++i) {
            kernel_->run(2 * lap_);
            wait(idle_ns);
            const auto begin = Clock::now();
            kernel_->run(lap_);
            times.push_back(ns_from(begin) / loads_);
        }
        return median(times);
    }

  private:
    Laps(std::unique_ptr<kernels::Kernel> kernel, double loads)
        : kernel_(std::move(kernel)),
          loads_(loads),
          lap_(static_cast<std::uint64_t>(loads / kernel_->per_iteration().operations) + 1) {
        kernel_->prepare();
    }

    std::unique_ptr<kernels::Kernel> kernel_;
    double loads_;
    std::uint64_t lap_;  ///< iterations
    bool warm_ = false;
};

Result<> go_on(const SharedLevelRequest& request) {
    if (request.interrupted && request.interrupted())
        return fail(ErrorCode::interrupted, "interrupted: nothing is written");
    return {};
}

/// Of figures that grow, each some times the one before.
struct Furthest {
    double held = 0, lost = 0;  ///< the last at which lines are held, and the next one; that is 0 beyond the largest
};

/// Neighbours come and go by the moment: two in a row at which lines are not held end it, one does not.
Result<Furthest> furthest(const SharedLevelRequest& request, double from, double factor, double most,
                          const std::function<Result<bool>(double)>& holds) {
    constexpr int enough = 2;
    Furthest found;
    int lost = 0;
    for (double at = from; at <= most && lost < enough; at *= factor) {
        TRY(go_on(request));
        if (!TRY(holds(at))) {
            ++lost;
            continue;
        }
        lost = 0;
        found = {at, at * factor};
    }
    if (found.lost > most) found.lost = 0;
    return found;
}

/// Halfway between two figures of which the one is some part of the other.
double between(double low, double high) { return std::sqrt(low * high); }

Result<Laps> laps_of(const SharedLevelRequest& request, double bytes, const machine::Host& host) {
    constexpr std::uint64_t page = 4096;
    return Laps::of(static_cast<std::uint64_t>(bytes) / page * page, request.pages, host);
}

}  // namespace

Result<std::optional<SharedLevel>> measure_shared_level(const SharedLevelRequest& request, const machine::Host& host) {
    constexpr double block_factor = 1.25;
    const auto small = static_cast<double>(request.held), all = static_cast<double>(request.both_levels);
    SharedLevel found;
    found.beyond_ns = request.beyond * TRY(laps_of(request, small, host)).load_ns(0);
    const auto is_held = [&](double bytes) -> Result<bool> {
        return TRY(laps_of(request, bytes, host)).load_ns(0) <= found.beyond_ns;
    };
    const auto block = TRY(furthest(request, small, block_factor, all, is_held));
    if (block.held <= 0) return std::nullopt;
    found.held = block.lost > 0 ? between(block.held, block.lost) : all;
    found.held_low = block.held;
    found.held_high = block.lost > 0 ? block.lost : found.held;
    constexpr int readings = 3;
    for (int i = 0; i < readings; ++i) {
        const auto idle = TRY(measure_others_fill(request, found.held, found.beyond_ns, host));
        if (idle) found.others_fill_ns.push_back(*idle);
    }
    if (found.others_fill_ns.empty()) return std::nullopt;
    return found;
}

Result<std::optional<double>> measure_others_fill(const SharedLevelRequest& request, double held, double beyond_ns,
                                                  const machine::Host& host) {
    constexpr double time_factor = 1.4142135623730951;
    constexpr double shortest_ns = 0.25e6, longest_ns = 32e6;
    const auto second = static_cast<double>(request.second_level);
    Laps half = TRY(laps_of(request, second + (held - second) / 2, host));
    const auto idle = TRY(furthest(request, shortest_ns, time_factor, longest_ns,
                                   [&](double ns) -> Result<bool> { return half.load_ns(ns) <= beyond_ns; }));
    if (idle.held <= 0 || idle.lost <= 0) return std::nullopt;
    return between(idle.held, idle.lost);
}

}  // namespace tmaprobe::experiments
