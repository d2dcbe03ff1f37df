#include "symbols/call_stacks.h"

#include <gtest/gtest.h>

#include "process/mappings.h"

namespace tmaprobe::symbols {
namespace {

TEST(CallStacks, OfNothingAreNone) {
    const auto found = call_stacks({});
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_TRUE(found->empty());
}

TEST(CallStacks, ThatLeadNowhereHaveNoCalls) {
    const auto code = process::code_mappings_of(::getpid());
    process::StackTop in_no_code{0x10, std::vector<std::uint64_t>(17, 0), 0, {}};
    process::StackTop no_stack = in_no_code, cut_off = in_no_code, no_registers;
    no_stack.instruction_pointer = cut_off.instruction_pointer = no_registers.instruction_pointer =
        reinterpret_cast<std::uint64_t>(&::getpid);
    cut_off.begin = 0x1000;
    cut_off.registers[7] = 0x1000;
    cut_off.words.assign(4, ~0ull);
    const auto found = call_stacks({{in_no_code, &code}, {no_stack, &code}, {cut_off, &code}});
    ASSERT_TRUE(found) << found.error().what;
    ASSERT_EQ(found->size(), 3U);
    for (const auto& calls : *found) EXPECT_TRUE(calls.empty());
    EXPECT_TRUE(call_stacks({{no_registers, &code}})) << "nothing of it is read";
}

}  // namespace
}  // namespace tmaprobe::symbols
