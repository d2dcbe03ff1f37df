#include "trace/stacked_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tmaprobe::trace {
namespace {

using testing::ElementsAre;

/// From the innermost call outwards.
std::vector<std::uint64_t> sites(StackedCalls& calls) {
    std::vector<std::uint64_t> sites;
    for (std::uint32_t path = calls.path(); path; path = calls.paths()[path].from)
        sites.push_back(calls.paths()[path].site);
    return sites;
}

TEST(StackedCalls, AreThoseThatHaveNotReturned) {
    StackedCalls calls;
    EXPECT_EQ(calls.path(), 0u);
    calls.call(0x900, 1);
    calls.call(0x800, 2);
    EXPECT_THAT(sites(calls), ElementsAre(2, 1));
    const std::uint32_t path = calls.path();
    calls.returned(0x800);
    EXPECT_THAT(sites(calls), ElementsAre(1));
    calls.call(0x7f0, 2);
    EXPECT_EQ(calls.path(), path);
    calls.call(0x700, 3);
    calls.call(0x600, 4);
    EXPECT_THAT(sites(calls), ElementsAre(4, 3, 2, 1));
}

TEST(StackedCalls, LeftBehindAreForgotten) {
    StackedCalls calls;
    calls.call(0x900, 1);
    calls.call(0x800, 2);
    calls.call(0x700, 3);
    calls.call(0x850, 4);  // an exception led back into the first one's callee
    EXPECT_THAT(sites(calls), ElementsAre(4, 1));
    calls.returned(0x900);
    EXPECT_THAT(sites(calls), ElementsAre());
    calls.call(0x900, 5);
    calls.clear();
    EXPECT_EQ(calls.path(), 0u);
}

TEST(StackedCalls, OfWhatCallsItselfHaveOnePath) {
    StackedCalls calls;
    std::uint64_t slot = 0x90000;
    calls.call(slot -= 16, 1);
    calls.call(slot -= 16, 2);
    calls.call(slot -= 16, 3);
    const std::uint32_t path = calls.path();
    for (int i = 0; i < 1000; ++i) {
        calls.call(slot -= 16, 2);
        calls.call(slot -= 16, 3);
        EXPECT_EQ(calls.path(), path);
    }
    EXPECT_EQ(calls.paths().size(), 4u);
}

}  // namespace
}  // namespace tmaprobe::trace
