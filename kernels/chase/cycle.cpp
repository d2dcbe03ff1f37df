// Builds the cycles in place: no memory beside the block itself, except one number per page.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/sizes.h"
#include "kernels/chase/chase.h"

namespace tmaprobe::kernels::chase {
namespace {

void*& place(std::byte* block, std::uint64_t offset) { return *reinterpret_cast<void**>(block + offset); }

/// Sattolo's shuffle: begins with every place leading to itself and ends in one random cycle over all.
void write_random(std::byte* block, const Layout& layout, Random& random) {
    const std::uint64_t count = places(layout), line = layout.line_bytes;
    for (std::uint64_t i = 0; i < count; ++i) place(block, i * line) = block + i * line;
    for (std::uint64_t i = count - 1; i > 0; --i)
        std::swap(place(block, i * line), place(block, random.below(i) * line));
}

std::vector<std::uint32_t> shuffled(std::uint64_t count, Random& random) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

/// Links places in the order in which they are handed in, and the last to the first.
class Linker {
  public:
    explicit Linker(std::byte* block) : block_(block) {}
    void visit(std::uint64_t offset) {
        if (any_) place(block_, last_) = block_ + offset;
        if (!any_) first_ = offset;
        any_ = true;
        last_ = offset;
    }
    void close() { place(block_, last_) = block_ + first_; }

  private:
    std::byte* block_;
    std::uint64_t first_ = 0, last_ = 0;
    bool any_ = false;
};

void write_page_by_page(std::byte* block, const Layout& layout, Random& random) {
    const std::uint64_t lines = layout.page_bytes / layout.line_bytes;
    Linker linker(block);
    for (const std::uint64_t page : shuffled(layout.bytes / layout.page_bytes, random))
        for (const std::uint64_t line : shuffled(lines, random))
            linker.visit(page * layout.page_bytes + line * layout.line_bytes);
    linker.close();
}

/// One line of every page per round. A page's line in a round is (round * odd + start) modulo their
/// number, a power of two, with numbers of the page's own: over all rounds each line once.
void write_new_page_each_time(std::byte* block, const Layout& layout, Random& random) {
    const std::uint64_t pages = layout.bytes / layout.page_bytes;
    const std::uint64_t lines = layout.page_bytes / layout.line_bytes;
    std::vector<std::uint32_t> own(pages);
    for (auto& numbers : own) numbers = static_cast<std::uint32_t>(random.next());
    Linker linker(block);
    std::uint64_t last_page = pages;
    std::uint64_t first_page = pages;
    for (std::uint64_t round = 0; round < lines; ++round) {
        std::vector<std::uint32_t> order = shuffled(pages, random);
        // The seams between rounds must change the page as well, and so must the one that closes the cycle.
        if (order.front() == last_page) std::swap(order.front(), order.back());
        if (round + 1 == lines && order.back() == first_page && pages > 2) std::swap(order.back(), order[pages - 2]);
        for (const std::uint64_t page : order) {
            const std::uint64_t line = (round * (own[page] >> 16 | 1) + (own[page] & 0xffff)) & (lines - 1);
            linker.visit(page * layout.page_bytes + line * layout.line_bytes);
        }
        if (round == 0) first_page = order.front();
        last_page = order.back();
    }
    linker.close();
}

void write_one_line_a_page(std::byte* block, const Layout& layout, Random& random) {
    const std::uint64_t lines = layout.page_bytes / layout.line_bytes;
    Linker linker(block);
    for (const std::uint64_t page : shuffled(layout.bytes / layout.page_bytes, random))
        linker.visit(page * layout.page_bytes + random.below(lines) * layout.line_bytes);
    linker.close();
}

}  // namespace

std::uint64_t places(const Layout& layout) {
    return layout.bytes / (layout.order == WalkOrder::tlb ? layout.page_bytes : layout.line_bytes);
}

Result<> check_layout(const Layout& layout) {
    const auto usable = [](std::uint64_t bytes) { return std::has_single_bit(bytes) && bytes >= sizeof(void*); };
    if (!usable(layout.line_bytes) || !usable(layout.page_bytes) || layout.page_bytes < layout.line_bytes)
        return fail(ErrorCode::bad_usage, "line and page must be powers of two, the line not larger than the page",
                    "for example line=64 page=4K");
    const bool by_page = layout.order != WalkOrder::random;
    const std::uint64_t unit = by_page ? layout.page_bytes : layout.line_bytes;
    const bool one_page_will_do = layout.order == WalkOrder::page && layout.page_bytes > layout.line_bytes;
    const std::uint64_t least = one_page_will_do ? unit : 2 * unit;
    if (layout.bytes < least)
        return fail(ErrorCode::bad_usage,
                    fmt::format("a block of {} bytes is too small: there is nowhere to go on to", layout.bytes),
                    fmt::format("at least --size {}", format_size(least)));
    if (layout.bytes % unit != 0)
        return fail(ErrorCode::bad_usage,
                    fmt::format("size {} is not a multiple of the {} of {} bytes", layout.bytes,
                                by_page ? "page" : "line", unit),
                    fmt::format("for example --size {}", format_size((layout.bytes / unit + 1) * unit)));
    if (by_page && layout.bytes / layout.page_bytes >= (std::uint64_t{1} << 32))
        return fail(ErrorCode::bad_usage, "more than 4294967295 pages", "use order=random or a larger page");
    return {};
}

void write_cycle(std::byte* block, const Layout& layout, std::uint64_t seed) {
    Random random(seed);
    switch (layout.order) {
        case WalkOrder::random:
            return write_random(block, layout, random);
        case WalkOrder::page:
            return write_page_by_page(block, layout, random);
        case WalkOrder::new_page:
            return write_new_page_each_time(block, layout, random);
        case WalkOrder::tlb:
            return write_one_line_a_page(block, layout, random);
    }
}

}  // namespace tmaprobe::kernels::chase
