#include "model/page_frames.h"

#include "base/hash.h"

namespace tmaprobe::model {
namespace {

constexpr int page_bits = 37;
constexpr std::uint64_t page_mask = (std::uint64_t{1} << page_bits) - 1;
/// Set where frames are not by chance: a frame of the one kind is none of the other.
constexpr std::uint64_t in_order = (page_mask + 1) * lines_per_page;
// Odd ones can be undone, and so can a shift by half of the bits or more. Two of each: after one, pages that follow one
// another would be spread more evenly than chance does.
constexpr int shift = 19;
constexpr std::uint64_t first_multiplier = 0x1b873593cc9e2d51u, second_multiplier = golden_factor;

/// What undoes a product with an odd factor, modulo 2^64: each of Newton's steps doubles the bits that are right.
constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t found = odd;
    for (int right_bits = 3; right_bits < 64; right_bits *= 2) found *= 2 - odd * found;
    return found;
}
static_assert(inverse(first_multiplier) * first_multiplier == 1 && inverse(second_multiplier) * second_multiplier == 1);

std::uint64_t mixed(std::uint64_t page, std::uint64_t factor) {
    page = page * factor & page_mask;
    return page ^ page >> shift;
}

std::uint64_t unmixed(std::uint64_t page, std::uint64_t factor) {
    page ^= page >> shift;
    return page * inverse(factor) & page_mask;
}

}  // namespace

std::uint64_t line_in_frames(std::uint64_t line, bool by_chance) {
    if (!by_chance) return line | in_order;
    const std::uint64_t frame = mixed(mixed(line / lines_per_page, first_multiplier), second_multiplier);
    return frame * lines_per_page + line % lines_per_page;
}

std::uint64_t line_from_frames(std::uint64_t in_frames) {
    if (in_frames & in_order) return in_frames ^ in_order;
    const std::uint64_t page = unmixed(unmixed(in_frames / lines_per_page, second_multiplier), first_multiplier);
    return page * lines_per_page + in_frames % lines_per_page;
}

}  // namespace tmaprobe::model
