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

    /// What a load takes after so long a wait: the median of three.
    double load_ns(double idle_ns) {
        constexpr int tries = 3;
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
};

Result<> go_on(const SharedLevelRequest& request) {
    if (request.interrupted && request.interrupted())
        return fail(ErrorCode::interrupted, "interrupted: nothing is written");
    return {};
}

/// The largest block that is held, and the next one, in bytes; that is 0 where all are.
struct HeldBlock {
    std::uint64_t held = 0, displaced = 0;
};

Result<HeldBlock> largest_held(const SharedLevelRequest& request, double beyond_ns, const machine::Host& host) {
    constexpr std::uint64_t page = 4096;
    std::uint64_t held = request.held;
    while (held < request.both_levels) {
        TRY(go_on(request));
        const std::uint64_t next = std::min(held + held / 4 / page * page, request.both_levels);
        Laps laps = TRY(Laps::of(next, request.pages, host));
        if (laps.load_ns(0) > beyond_ns) return HeldBlock{held, next};
        held = next;
    }
    return HeldBlock{held, 0};
}

/// The longest wait that left the lines, and the next one; that is 0 where all did.
struct IdleTime {
    double left_ns = 0, displaced_ns = 0;
};

Result<IdleTime> longest_idle(const SharedLevelRequest& request, Laps& laps, double beyond_ns) {
    constexpr double shortest_ns = 0.25e6, longest_ns = 32e6, step = 1.4142135623730951;
    double left = 0;
    for (double idle_ns = shortest_ns; idle_ns <= longest_ns * step; idle_ns *= step) {
        TRY(go_on(request));
        if (laps.load_ns(idle_ns) > beyond_ns) return IdleTime{left, idle_ns};
        left = idle_ns;
    }
    return IdleTime{left, 0};
}

/// Halfway between two figures of which the one is some part of the other.
double between(double low, double high) { return std::sqrt(low * high); }

}  // namespace

Result<std::optional<SharedLevel>> measure_shared_level(const SharedLevelRequest& request, const machine::Host& host) {
    Laps small = TRY(Laps::of(request.held, request.pages, host));
    const double beyond_ns = request.beyond * small.load_ns(0);
    const HeldBlock block = TRY(largest_held(request, beyond_ns, host));
    const auto low = static_cast<double>(block.held);
    const double held =
        block.displaced ? between(low, static_cast<double>(block.displaced)) : static_cast<double>(request.both_levels);
    // Of the third level alone.
    constexpr std::uint64_t page = 4096;
    const auto half =
        request.second_level + static_cast<std::uint64_t>(held - static_cast<double>(request.second_level)) / 2;
    Laps idle = TRY(Laps::of(half / page * page, request.pages, host));
    const IdleTime time = TRY(longest_idle(request, idle, beyond_ns));
    if (time.left_ns <= 0 || time.displaced_ns <= 0) return std::nullopt;
    return SharedLevel{held,
                       low,
                       block.displaced ? static_cast<double>(block.displaced) : held,
                       between(time.left_ns, time.displaced_ns),
                       time.left_ns,
                       time.displaced_ns};
}

}  // namespace tmaprobe::experiments
