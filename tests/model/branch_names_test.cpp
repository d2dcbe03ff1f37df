#include "model/branch_names.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

trace::StaticInstruction conditional(std::uint64_t address, std::array<std::uint8_t, 16> bytes, std::uint8_t length) {
    trace::StaticInstruction branch;
    branch.address = address;
    branch.bytes = bytes;
    branch.length = length;
    branch.branch = branch.conditional = true;
    return branch;
}

TEST(BranchNames, AreTheSameWhereverCodeLies) {
    // Two short jumps that look the same, and one far jump, which goes to code that has not moved with it.
    const auto names_at = [](std::uint64_t address, std::uint8_t far) {
        BranchNames names;
        return std::array{names.of_branch(conditional(address, {0x75, 0x08}, 2)),
                          names.of_branch(conditional(address + 16, {0x75, 0x08}, 2)),
                          names.of_branch(conditional(address + 32, {0x0f, 0x85, far, 1}, 6)),
                          names.of_branch(conditional(address, {0x75, 0x08}, 2))};
    };
    const auto here = names_at(0x1000, 7), there = names_at(0x2345, 90);
    EXPECT_EQ(here, there);
    EXPECT_NE(here[0], here[1]);
    EXPECT_NE(here[0], here[2]);
    EXPECT_NE(here[1], here[2]);
    EXPECT_EQ(here[0], here[3]);
}

TEST(BranchNames, OneMoreBranchOfOtherLooksChangesNone) {
    BranchNames before, after;
    const auto branch = conditional(0x1000, {0x75, 0x08}, 2), another = conditional(0x900, {0x74, 0x20}, 2);
    const auto name = before.of_branch(branch);
    EXPECT_NE(after.of_branch(another), 0u);
    EXPECT_EQ(after.of_branch(branch), name);
}

TEST(BranchNames, TargetsAreNumberedAsTheyAreMet) {
    BranchNames names;
    EXPECT_EQ(names.of_target(0x5000), 1u);
    EXPECT_EQ(names.of_target(0x4000), 2u);
    EXPECT_EQ(names.of_target(0x5000), 1u);
}

}  // namespace
}  // namespace tmaprobe::model
