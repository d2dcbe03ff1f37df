#include "model/windows_beside.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace tmaprobe::model {
namespace {

WindowBeside some_window(double cycles) {
    WindowBeside window;
    window.facts.base = {{"cycles", cycles}, {"instructions", 100}};
    window.facts.variations.push_back({record::Variation::no_prefetchers, {{"cycles", cycles / 3}}, {}});
    window.facts.time_by_address = {{0x7fff'ffff'ffff'fff0, 0.1}, {16, 2}};
    window.facts.time_by_region = {{3, {{16, 2}}}};
    window.simulated_instructions = 200;
    return window;
}

TEST(WindowsBeside, AreSimulatedFromWhatWasThereWhenTheyBegan) {
    WindowsBeside beside;
    beside.allow(1);
    double cycles = 100.0 / 3;
    const auto number = beside.begin([&]() -> Result<WindowBeside> { return some_window(cycles); });
    cycles = 7;
    ASSERT_TRUE(number);
    const auto window = beside.take(*number);
    ASSERT_TRUE(window);
    EXPECT_EQ(window->facts.base, (Facts{{"cycles", 100.0 / 3}, {"instructions", 100}})) << "to the last bit";
    ASSERT_EQ(window->facts.variations.size(), 1u);
    EXPECT_EQ(window->facts.variations[0].facts.at("cycles"), 100.0 / 3 / 3);
    EXPECT_EQ(window->facts.time_by_address, some_window(1).facts.time_by_address);
    EXPECT_EQ(window->facts.time_by_region, some_window(1).facts.time_by_region);
    EXPECT_EQ(window->simulated_instructions, 200u);
}

TEST(WindowsBeside, NoMoreThanAllowedRunAtATime) {
    WindowsBeside beside;
    const auto sleeps = []() -> Result<WindowBeside> {
        ::pause();
        return WindowBeside{};
    };
    EXPECT_FALSE(beside.begin(sleeps)) << "none is allowed before";
    beside.allow(1);
    ASSERT_TRUE(beside.begin(sleeps));
    EXPECT_FALSE(beside.begin(sleeps));
    // Whoever goes away ends those that run.
}

TEST(WindowsBeside, TellWhatWentWrong) {
    WindowsBeside beside;
    beside.allow(2);
    const auto failed =
        beside.begin([]() -> Result<WindowBeside> { return fail(ErrorCode::bad_input, "no such thing", ""); });
    const auto killed = beside.begin([]() -> Result<WindowBeside> {
        ::raise(SIGKILL);
        return WindowBeside{};
    });
    ASSERT_TRUE(failed && killed);
    const auto first = beside.take(*failed), second = beside.take(*killed);
    ASSERT_FALSE(first || second);
    EXPECT_EQ(first.error().what, "no such thing");
    EXPECT_EQ(second.error().what, "a window's simulation came to no end");
    EXPECT_FALSE(beside.take(*failed)) << "each may be taken once";
}

TEST(WindowsBeside, AMomentHasThemWhenTheyAreThere) {
    WindowFacts moment;
    moment.process = 7;
    moment.native_ns = 5;
    WindowFacts awaited;
    awaited.beside = {3};
    EXPECT_FALSE(is_nothing(awaited));
    merge(moment, awaited);
    EXPECT_EQ(moment.beside, std::vector<std::uint32_t>{3});
    EXPECT_TRUE(moment.base.empty());
    merge(moment, some_window(10).facts);
    EXPECT_EQ(cycles_of(moment.base), 10);
    EXPECT_EQ(moment.beside, std::vector<std::uint32_t>{3});
    EXPECT_EQ(moment.process, 7);
    EXPECT_EQ(moment.native_ns, 5);
    EXPECT_TRUE(moment.parts.empty()) << "it is of one window";
    merge(moment, some_window(20).facts);
    EXPECT_EQ(cycles_of(moment.base), 30);
    EXPECT_EQ(moment.parts.size(), 2u);
    EXPECT_TRUE(is_nothing(WindowFacts{}));
}

}  // namespace
}  // namespace tmaprobe::model
