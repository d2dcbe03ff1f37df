#include "timing/effective_pages.h"

#include "base/sizes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <fmt/format.h>

namespace tmaprobe::timing {
namespace {

constexpr std::uint64_t small_page = 4096, line = 64;
constexpr double small_entries_above = 0.25, slow_as_walks = 2, scattering_must_cost = 1.15;

/// One dependent load per line, in a random cycle over `count` lines at base + offset(index); remembers its
/// fastest lap, since others' noise only ever adds time.
class Walk {
  public:
    template <class Offset>
    Walk(std::byte* base, std::uint64_t count, Offset offset) : count_(count) {
        std::vector<std::uint32_t> order(count);
        std::iota(order.begin(), order.end(), 0U);
        std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
        for (std::uint64_t at = 0; at < count; ++at) {
            std::byte* const next = base + offset(order[(at + 1) % count]);
            std::memcpy(base + offset(order[at]), &next, sizeof next);
        }
        place_ = base + offset(order[0]);
    }

    /// Two laps: the first brings back to the caches what other walks have pushed out.
    void go() {
        lap();
        best_ns_ = std::min(best_ns_, lap());
    }

    double best_ns() const { return best_ns_ / static_cast<double>(count_); }

  private:
    double lap() {
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t step = 0; step < count_; ++step) {
            std::memcpy(&place_, place_, sizeof place_);
            asm volatile("" : "+r"(place_));
        }
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    }

    std::uint64_t count_;
    std::byte* place_ = nullptr;
    double best_ns_ = std::numeric_limits<double>::max();
};

/// Twice the 4 KiB reach of the largest data TLB level, so that small entries cannot hold the walk.
std::uint64_t pages_to_walk(const machine::Host& host) {
    std::uint64_t most = 2048;
    for (const machine::Tlb& tlb : host.tlbs)
        if (tlb.page_bytes == small_page && tlb.kind != "instruction" && tlb.level == 2)
            most = std::max(most, static_cast<std::uint64_t>(tlb.entries));
    return std::min<std::uint64_t>(2 * most, 8192);
}

}  // namespace

EffectivePages judge_page_walks(const PageWalks& walks, const std::string& mode_name) {
    EffectivePages result;
    const double small_extra = walks.small_ns - walks.dense_ns, large_extra = walks.large_ns - walks.dense_ns;
    if (!(walks.dense_ns > 0) || walks.small_ns < scattering_must_cost * walks.dense_ns) {
        result.why = "scattered accesses cost nothing here even in 4 KiB pages, which tells nothing about the TLB";
        return result;
    }
    result.kept_share = std::max(0.0, large_extra / small_extra);
    // A stranger in the caches makes the small pages' walk look slower than it is, which hides the second sign
    // of small entries: one that walks is never nearly as fast as lines side by side.
    const bool split = result.kept_share > small_entries_above || walks.large_ns > slow_as_walks * walks.dense_ns;
    const std::string numbers = fmt::format(
        "one access per 4 KiB takes {:.1f} ns in {} pages and {:.1f} ns in 4k pages, {:.1f} ns side by side",
        walks.large_ns, mode_name, walks.small_ns, walks.dense_ns);
    if (split) {
        result.name = "4k";
        result.why = "the hypervisor splits the huge pages: the TLB holds 4 KiB entries (" + numbers + ")";
    } else {
        // Whether 1 GiB entries are really held would take many GiB to see; 2 MiB ones are certain.
        result.name = mode_name == "1g" ? "2m" : mode_name;
        result.why = "the TLB holds large entries (" + numbers + ")";
    }
    return result;
}

std::uint64_t effective_pages_bytes(const machine::Host& host) {
    return host.hypervisor.empty() ? 0 : pages_to_walk(host) * small_page;
}

EffectivePages effective_pages(const machine::Host& host, const memory::PageMode& mode, std::optional<int> numa_node) {
    const std::string name = format_page_size(mode.page_bytes ? mode.page_bytes : memory::base_page_bytes());
    if (!mode.hugetlb && !mode.transparent) return {name, "the base page", 0};
    if (host.hypervisor.empty()) return {name, "no hypervisor in between", 0};

    const std::uint64_t count = pages_to_walk(host), bytes = count * small_page;
    const auto base_mode = memory::parse_page_mode(format_page_size(memory::base_page_bytes()));
    if (!base_mode) return {"", base_mode.error().what, 0};
    // Over all cache sets alike: the line within its page moves on from page to page.
    const auto scattered = [](std::uint64_t index) {
        return index * small_page + index * 7 % (small_page / line) * line;
    };
    auto dense = memory::Buffer::allocate(count * line, *base_mode, numa_node);
    auto small = memory::Buffer::allocate(bytes, *base_mode, numa_node);
    auto large = memory::Buffer::allocate(bytes, mode, numa_node);
    for (const auto* buffer : {&dense, &small, &large})
        if (!*buffer) return {"", buffer->error().what, 0};
    const auto& obtained = large->obtained();
    if (const auto base = obtained.find(base_mode->name); base != obtained.end() && base->second > bytes / 8)
        return {"", "the kernel gave small pages instead of huge ones", 0};

    std::array<Walk, 3> in_turn{Walk(dense->data(), count, [](std::uint64_t index) { return index * line; }),
                                Walk(small->data(), count, scattered), Walk(large->data(), count, scattered)};
    constexpr int rounds = 24;  // some 20 ms: long enough to meet a quiet moment, if there is one
    for (int round = 0; round < rounds; ++round)
        for (Walk& walk : in_turn) walk.go();
    const PageWalks walks{in_turn[0].best_ns(), in_turn[1].best_ns(), in_turn[2].best_ns()};
    return judge_page_walks(walks, name);
}

}  // namespace tmaprobe::timing
