#include "model/kinds_of_moments.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

constexpr pid_t process = 7;
constexpr std::uint64_t here = 0x400000, there = 0x500000, elsewhere = 0x600000;

WindowFacts moment_at(std::map<std::uint64_t, double> time_by_address, double native_ns, pid_t of = process) {
    WindowFacts moment;
    moment.time_by_address = std::move(time_by_address);
    moment.native_ns = native_ns;
    moment.process = of;
    return moment;
}

TEST(KindsOfMoments, HaveTheTimeThatLooksSay) {
    // By chance three of four moments met what takes a fifth of the time.
    std::vector<WindowFacts> moments{moment_at({{here, 1}}, 1e6), moment_at({{here, 1}}, 1e6),
                                     moment_at({{here, 1}}, 2e6), moment_at({{there, 1}}, 1e6)};
    const auto told = weigh_by_looks({{process, {{here, 200}, {there, 800}}}}, moments);
    EXPECT_DOUBLE_EQ(told.looks, 1000);
    EXPECT_DOUBLE_EQ(told.unmet, 0);
    EXPECT_EQ(moments[0].kind, moments[1].kind);
    EXPECT_NE(moments[0].kind, moments[3].kind);
    EXPECT_NEAR(moments[3].native_ns, 4e6, 1);
    EXPECT_NEAR(moments[0].native_ns, 0.25e6, 1);
    EXPECT_NEAR(moments[2].native_ns, 0.5e6, 1) << "moments of a kind keep their proportions";
}

TEST(KindsOfMoments, CodeOfSeveralKindsIsSharedOut) {
    // Both use what is elsewhere: the first a quarter of its time, the second all but a quarter.
    std::vector<WindowFacts> moments{moment_at({{here, 3}, {elsewhere, 1}}, 1e6),
                                     moment_at({{there, 1}, {elsewhere, 3}}, 1e6)};
    // 60% of the one and 40% of the other.
    weigh_by_looks({{process, {{here, 450}, {there, 100}, {elsewhere, 450}}}}, moments);
    EXPECT_NEAR(moments[0].native_ns, 1.2e6, 1e4);
    EXPECT_NEAR(moments[1].native_ns, 0.8e6, 1e4);
}

TEST(KindsOfMoments, LooksAtOtherCodeAreSaid) {
    std::vector<WindowFacts> moments{moment_at({{here, 1}}, 1e6)};
    const auto told = weigh_by_looks({{process, {{here, 90}, {there, 10}}}}, moments);
    EXPECT_DOUBLE_EQ(told.unmet, 0.1);
    EXPECT_NEAR(moments[0].native_ns, 1e6, 1);
}

TEST(KindsOfMoments, FewLooksSayNothing) {
    std::vector<WindowFacts> moments{moment_at({{here, 1}}, 1e6), moment_at({{there, 1}}, 1e6)};
    const auto told = weigh_by_looks({{process, {{here, 5}}}}, moments);
    EXPECT_EQ(told.looks, 0);
    EXPECT_EQ(moments[1].native_ns, 1e6);
    EXPECT_NE(moments[0].kind, moments[1].kind);
}

TEST(KindsOfMoments, LooksAtNothingThatWasMetChangeNothing) {
    std::vector<WindowFacts> moments{moment_at({{here, 1}}, 1e6), moment_at({{there, 1}}, 1e6)};
    EXPECT_DOUBLE_EQ(weigh_by_looks({{process, {{elsewhere, 500}}}}, moments).unmet, 1);
    EXPECT_EQ(moments[0].native_ns, 1e6);
    EXPECT_EQ(moments[1].native_ns, 1e6);
}

TEST(KindsOfMoments, EachProcessKeepsItsTime) {
    std::vector<WindowFacts> moments{moment_at({{here, 1}}, 1e6), moment_at({{there, 1}}, 1e6),
                                     moment_at({{here, 1}}, 5e6, process + 1)};
    weigh_by_looks({{process, {{here, 900}, {there, 100}}}, {process + 2, {{here, 100}}}}, moments);
    EXPECT_NEAR(moments[0].native_ns, 1.8e6, 1);
    EXPECT_NEAR(moments[1].native_ns, 0.2e6, 1);
    EXPECT_EQ(moments[2].native_ns, 5e6);
    EXPECT_NE(moments[0].kind, moments[2].kind) << "the same address is other code there";
}

TEST(KindsOfMoments, WithoutMomentsThereIsNothingToSay) {
    std::vector<WindowFacts> none;
    EXPECT_EQ(weigh_by_looks({{process, {{here, 900}}}}, none).looks, 0);
}

}  // namespace
}  // namespace tmaprobe::model
