#include "experiments/code_loops.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace tmaprobe::experiments {
namespace {

using counters::ExecutedRun;

/// Code of no file: it lies where it lies, and nothing is known of it.
struct Found {
    CodePoints points;
    std::vector<CodeLoop> loops;
    std::vector<std::size_t> innermost;
    std::size_t loop_at(std::uint64_t address) {
        for (std::size_t point = 0; point < points.size(); ++point)
            if (points[point].offset == address) return innermost[point];
        ADD_FAILURE() << "no instruction at " << address;
        return FlowLoop::none;
    }
};

/// `windows`: runs of each; `instructions`: whose loops will be asked for.
Found found_in(const std::vector<std::vector<ExecutedRun>>& windows, const std::vector<std::uint64_t>& instructions) {
    counters::SlotAttribution attribution;
    attribution.mappings = {{}};
    for (const auto& runs : windows) {
        counters::AttributedWindow window;
        window.process = ::getpid();
        for (const ExecutedRun& run : runs) window.runs.add(run);
        attribution.windows.push_back(std::move(window));
    }
    Found found;
    for (const std::uint64_t address : instructions) found.points.number(attribution, attribution.windows[0], address);
    CodeLoops loops;
    for (const auto& window : attribution.windows) loops.add(attribution, window, found.points);
    std::vector<record::Warning> warnings;
    found.points.locate(warnings);
    found.loops = loops.find(found.points);
    found.innermost = loops.innermost();
    return found;
}

TEST(CodeLoops, ARunThatAnotherOneBeginsInIsTwoPieces) {
    // 10 to 20 and round to 14.
    auto found = found_in({{{0x10, 0x20, 0x14}, {0x14, 0x20, 0x14}, {0x14, 0x20, 0x24}, {0x24, 0x28, 0}}},
                          {0x10, 0x14, 0x18, 0x20, 0x24, 0x30});
    ASSERT_EQ(found.loops.size(), 1u);
    EXPECT_EQ(found.points[found.loops[0].head].offset, 0x14u);
    EXPECT_EQ(found.loop_at(0x10), FlowLoop::none);
    EXPECT_EQ(found.loop_at(0x14), 0u);
    EXPECT_EQ(found.loop_at(0x18), 0u) << "an instruction in the middle";
    EXPECT_EQ(found.loop_at(0x20), 0u);
    EXPECT_EQ(found.loop_at(0x24), FlowLoop::none);
    EXPECT_EQ(found.loop_at(0x30), FlowLoop::none) << "behind all runs";
}

TEST(CodeLoops, WindowsThatSawPartsOfALoopAreOneLoop) {
    auto found =
        found_in({{{0x10, 0x14, 0x40}, {0x40, 0x44, 0}}, {{0x44, 0x48, 0x10}, {0x40, 0x48, 0x10}}}, {0x10, 0x44});
    ASSERT_EQ(found.loops.size(), 1u);
    EXPECT_EQ(found.loop_at(0x10), 0u);
    EXPECT_EQ(found.loop_at(0x44), 0u);
}

TEST(CodeLoops, ALoopInALoopSaysWhichItIsIn) {
    auto found =
        found_in({{{0x10, 0x14, 0x18}, {0x18, 0x20, 0x18}, {0x18, 0x20, 0x24}, {0x24, 0x28, 0x10}, {0x24, 0x28, 0x2c}}},
                 {0x14, 0x1c, 0x26});
    ASSERT_EQ(found.loops.size(), 2u);
    EXPECT_EQ(found.loops[1].around, 0u);
    EXPECT_EQ(found.loops[1].depth, 2u);
    EXPECT_EQ(found.loop_at(0x14), 0u);
    EXPECT_EQ(found.loop_at(0x1c), 1u);
    EXPECT_EQ(found.loop_at(0x26), 0u);
}

TEST(CodeLoops, WithoutRunsThereAreNone) {
    auto found = found_in({{}}, {0x10});
    EXPECT_TRUE(found.loops.empty());
    EXPECT_EQ(found.loop_at(0x10), FlowLoop::none);
}

}  // namespace
}  // namespace tmaprobe::experiments
