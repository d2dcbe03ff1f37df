#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "kernels/kernel.h"

namespace tmaprobe::kernels::chase {

/// In which order the lines of a block are visited. Each order is one closed cycle, so that every line
/// of it is visited once per lap, and none that a prefetcher can foresee.
enum class WalkOrder {
    random,    ///< all lines, any after any
    page,      ///< all lines, one page after the other, random inside the page: few translations
    new_page,  ///< all lines, each in another page than the one before: a translation for each
    tlb,       ///< one line of each page, at a random place in it: translations without much cache
};

struct Layout {
    WalkOrder order = WalkOrder::random;
    std::uint64_t bytes = 0;          ///< of the block
    std::uint64_t line_bytes = 64;    ///< distance of the places visited
    std::uint64_t page_bytes = 4096;  ///< for the orders that know pages
};

/// Places visited per lap.
std::uint64_t places(const Layout& layout);

/// Errors: bad_usage for a block that is not a multiple of the line (of the page, for orders that know
/// pages), of fewer than two places, or where a new page each time cannot be.
Result<> check_layout(const Layout& layout);

/// Writes the cycle into the block: at each place the address of the next. The same seed gives the same
/// cycle. Needs a layout that check_layout accepts.
void write_cycle(std::byte* block, const Layout& layout, std::uint64_t seed);

/// Loads of one chain in one iteration of the kernel.
inline constexpr int loads_per_iteration = 64;
inline constexpr int most_chains = 12;  ///< as many as fit the registers of x86-64

KernelDescriptor descriptor();

}  // namespace tmaprobe::kernels::chase
