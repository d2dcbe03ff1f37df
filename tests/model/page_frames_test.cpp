#include "model/page_frames.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tmaprobe::model {
namespace {

constexpr std::uint64_t greatest_line = (std::uint64_t{1} << 43) - 1;

TEST(PageFrames, AreFoundBack) {
    for (const std::uint64_t line : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x7fff12345678 / 64},
                                     std::uint64_t{1} << 42, greatest_line}) {
        EXPECT_LE(line_in_frames(line, true), greatest_line);
        EXPECT_EQ(line_from_frames(line_in_frames(line, true)), line);
        EXPECT_EQ(line_in_frames(line, true) % lines_per_page, line % lines_per_page);
        EXPECT_EQ(line_in_frames(line, false) % (greatest_line + 1), line);
        EXPECT_EQ(line_from_frames(line_in_frames(line, false)), line);
    }
}

TEST(PageFrames, AreOnePagesAlone) {
    std::set<std::uint64_t> frames;
    const std::uint64_t first = 0x555555554;
    for (std::uint64_t page = first; page < first + 10'000; ++page)
        frames.insert(line_in_frames(page * lines_per_page, true) / lines_per_page);
    EXPECT_EQ(frames.size(), 10'000u);
}

// Of 256 pages, 8 to each of 32 colours on average, Poisson's distribution has 0.55 in colours of more than 8. Pages
// that are spread evenly would all be in colours of 8.
TEST(PageFrames, FallOnColoursByChance) {
    double crowded = 0;
    constexpr int tries = 50, pages = 256;
    for (int start = 0; start < tries; ++start) {
        std::array<int, 32> of_colour{};
        for (std::uint64_t page = 0; page < pages; ++page)
            ++of_colour[line_in_frames((0x7f0000000 + static_cast<std::uint64_t>(start) * 1000 + page) * lines_per_page,
                                       true) /
                        lines_per_page % of_colour.size()];
        for (const int here : of_colour) crowded += here > 8 ? here : 0;
    }
    EXPECT_NEAR(crowded / (tries * pages), 0.55, 0.06);
}

}  // namespace
}  // namespace tmaprobe::model
