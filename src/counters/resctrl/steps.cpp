#include "counters/resctrl/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace tmaprobe::counters::resctrl {
namespace {

/// At most `most` whole numbers from `first` to `last`, both ends among them; evenly or by a factor.
std::vector<int> spread(int first, int last, int most, bool by_factor) {
    std::vector<int> numbers;
    const int count = std::min(most, last - first + 1);
    for (int index = 0; index < count; ++index) {
        const double at = count == 1 ? 1 : static_cast<double>(index) / (count - 1);
        const double value =
            by_factor ? first * std::pow(static_cast<double>(last) / first, at) : first + (last - first) * at;
        numbers.push_back(static_cast<int>(std::lround(value)));
    }
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

/// The lowest `count` bits of those in `mask`.
std::uint64_t lowest_bits(std::uint64_t mask, int count) {
    std::uint64_t lowest = 0;
    for (; count > 0 && mask; --count, mask &= mask - 1) lowest |= mask & -mask;
    return lowest;
}

Result<std::vector<KeeperStep>> cache_steps(const Info& info) {
    const auto cache = std::find_if(info.caches.begin(), info.caches.end(),
                                    [](const auto& known) { return known.name.starts_with("L3"); });
    const int bits = cache == info.caches.end() ? 0 : std::popcount(cache->mask);
    if (bits == 0)
        return fail(ErrorCode::unavailable, "this hardware cannot partition its L3", "leave l3 out of --allocations");
    constexpr int most = 12;
    std::vector<KeeperStep> steps;
    for (const int count : spread(std::clamp(cache->least_bits, 1, bits), bits, most, false)) {
        const std::uint64_t mask = lowest_bits(cache->mask, count);
        steps.push_back(
            {fmt::format("l3={:#x} ({} of {} bits)", mask, count, bits), Limit{mask, {}}, count, "bits", bits});
    }
    return steps;
}

Result<std::vector<KeeperStep>> bandwidth_steps(const Info& info) {
    if (!info.bandwidth)
        return fail(ErrorCode::unavailable, "this hardware cannot limit memory bandwidth",
                    "leave mb out of --allocations");
    const auto& control = *info.bandwidth;
    constexpr int most = 10, slowest_mbps = 1000, fastest_mbps = 64000;
    // In units of the step, so that every cap is one that the hardware can tell from its neighbours.
    const int step = std::max(1, control.step);
    const int least = std::max(1, control.unlimited ? slowest_mbps : control.least);
    const int last = control.unlimited ? fastest_mbps : control.most;
    std::vector<KeeperStep> steps;
    for (const int count : spread((least + step - 1) / step, std::max(1, last / step), most, !control.percent)) {
        const int value = std::clamp(count * step, least, last);
        const std::string unit = control.percent ? "percent" : control.unlimited ? "MBps" : "units";
        steps.push_back({fmt::format("mb={} ({})", value, unit == "units" ? fmt::format("of {}", last) : unit),
                         Limit{{}, value}, value, unit, control.unlimited ? 0 : last});
    }
    return steps;
}

}  // namespace

Result<std::vector<KeeperStep>> steps_of(const Info& info, const std::string& control) {
    if (control == "l3") return cache_steps(info);
    if (control == "mb") return bandwidth_steps(info);
    return fail(ErrorCode::bad_usage, fmt::format("--allocations {}: no such control", control),
                "write l3, mb or l3,mb");
}

}  // namespace tmaprobe::counters::resctrl
