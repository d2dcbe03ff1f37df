#include "timing/reorder_probe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tmaprobe::timing {
namespace {

#if defined(__x86_64__)

#define TMAPROBE_DIVIDE(chain) "divsd %[by], %[" chain "]\n"
#define TMAPROBE_FOUR(text) text text text text
#define TMAPROBE_CHAIN(chain) TMAPROBE_FOUR(TMAPROBE_FOUR(TMAPROBE_DIVIDE(chain)))

/// Two chains of 16 divisions, long enough to hide the delivery of the no-operations; each turn waits for both.
template <int distance>
void two_chains(std::uint64_t turns) {
    double first = 1.7, second = 1.7;
    // Not a power of two and never exact, so that no divider ends early.
    const double by = 1.0000000000123, half = 0.5;
    asm volatile("1:\n" TMAPROBE_CHAIN("first") ".rept %c[distance]\nnop\n.endr\n" TMAPROBE_CHAIN("second")
                 "addsd %[second], %[first]\n mulsd %[half], %[first]\n movapd %[first], %[second]\n"
                 "dec %[turns]\n jnz 1b\n"
                 : [first] "+x"(first), [second] "+x"(second), [turns] "+r"(turns)
                 : [by] "x"(by), [half] "x"(half), [distance] "i"(distance)
                 : "cc");
}

#undef TMAPROBE_CHAIN
#undef TMAPROBE_FOUR
#undef TMAPROBE_DIVIDE

struct Loop {
    int distance;
    void (*run)(std::uint64_t turns);
};

template <int... distances>
constexpr auto make_loops() {
    return std::array{Loop{distances, two_chains<distances>}...};
}

constexpr auto loops =
    make_loops<0, 32, 48, 64, 80, 96, 120, 144, 168, 192, 216, 240, 264, 288, 336, 384, 432, 480, 528, 576, 672, 768>();

double fastest_ns(void (*run)(std::uint64_t)) {
    constexpr int tries = 3;
    constexpr std::uint64_t turns = 40;
    double best = std::numeric_limits<double>::max();
    for (int attempt = 0; attempt < tries; ++attempt) {
        const auto begin = std::chrono::steady_clock::now();
        run(turns);
        best =
            std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
    }
    return std::max(1.0, best);
}

#endif

}  // namespace

#if defined(__x86_64__)

double measure_overlap(int distance) {
    const auto loop =
        std::find_if(loops.begin(), loops.end(), [&](const Loop& candidate) { return candidate.distance == distance; });
    if (loop == loops.end()) return 0;
    const double together = fastest_ns(loops.front().run);
    return fastest_ns(loop->run) / together;
}

std::vector<int> probe_distances() {
    std::vector<int> distances;
    for (const Loop& loop : loops)
        if (loop.distance > 0) distances.push_back(loop.distance);
    return distances;
}

#else

double measure_overlap(int) { return 0; }
std::vector<int> probe_distances() { return {}; }

#endif

int distance_for(int reorder_buffer) {
    // The chains themselves take entries as well, and half a buffer must be left well behind.
    constexpr double wanted = 0.75, least = 0.62, most = 0.88;
    int best = 0;
    for (const int distance : probe_distances()) {
        const double share = static_cast<double>(distance) / std::max(1, reorder_buffer);
        if (share < least || share > most) continue;
        if (best == 0 || std::abs(share - wanted) < std::abs(static_cast<double>(best) / reorder_buffer - wanted))
            best = distance;
    }
    return best;
}

ReorderProbe::ReorderProbe(int reorder_buffer, std::function<double(int)> overlap)
    : overlap_(std::move(overlap)), learns_(reorder_buffer <= 0), distance_(distance_for(reorder_buffer)) {}

int longest_overlap(const std::function<double(int)>& overlap) {
    int longest = 0;
    for (const int distance : probe_distances()) {
        const double found = overlap(distance);
        if (!(found > 0) || found >= halved_above) break;
        longest = distance;
    }
    return longest;
}

double ReorderProbe::read() {
    if (learns_) {
        // Half a buffer was taken for a whole one if chains now overlap beyond it.
        const int beyond = distance_for(2 * distance_ * 4 / 3);
        const double further = beyond > 0 ? overlap_(beyond) : 0;
        if (distance_ == 0 || (further > 0 && further < halved_above))
            distance_ = distance_for(longest_overlap(overlap_));
    }
    return distance_ > 0 ? overlap_(distance_) : 0;
}

}  // namespace tmaprobe::timing
