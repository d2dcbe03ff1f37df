#include "model/rare_code.h"

#include <gmock/gmock.h>

namespace tmaprobe::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A window that executes what stands at these addresses.
void meet(RareCode& rare, const std::vector<std::uint64_t>& addresses) {
    trace::Trace trace;
    for (const std::uint64_t address : addresses) {
        trace.steps.push_back({static_cast<std::uint32_t>(trace.instructions.size()), 0, 0, 0});
        trace.instructions.emplace_back().address = address;
    }
    rare.met(trace.instructions, trace.steps);
}

TEST(RareCode, IsWantedWhileItIsMetLessThanTheRunWentOn) {
    RareCode rare({{0x10, 90'000, 10}, {0x20, 1000, 50}, {0x30, 1000, 20}}, 970'000);
    EXPECT_THAT(rare.wanted(0.01), ElementsAre(0x10, 0x20, 0x30));
    for (int i = 0; i < 8; ++i) meet(rare, {0x10, 0x11});
    meet(rare, {0x30});
    EXPECT_THAT(rare.wanted(0.05), ElementsAre(0x20));
    EXPECT_THAT(rare.wanted(0.5), ElementsAre(0x20, 0x30));
    EXPECT_THAT(rare.wanted(1), ElementsAre(0x10, 0x20, 0x30));
    for (int i = 0; i < 16; ++i) meet(rare, {0x10, 0x20, 0x30});
    EXPECT_THAT(rare.wanted(1), IsEmpty());
}

TEST(RareCode, MattersByWhatIsExecutedOfItAltogether) {
    // Two blocks that begin at one place are one; what is hardly ever executed is left to chance.
    const RareCode rare({{0x10, 20, 10}, {0x10, 20, 10}, {0x20, 20, 20}, {0x30, 40, 1}}, 1'000'000);
    EXPECT_THAT(rare.wanted(1), ElementsAre(0x10));
}

}  // namespace
}  // namespace tmaprobe::model
