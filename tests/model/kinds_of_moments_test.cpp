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

using Looks = std::vector<counters::perf::TimeProfile::Look>;

/// So many looks at each, one after the other, and what they tell of the moments.
LookedAt weigh_in_order(const std::vector<std::pair<std::uint64_t, int>>& looks, std::vector<WindowFacts>& moments) {
    Looks in_order;
    CodeLooks counts;
    for (const auto& [address, times] : looks) {
        counts[process][address] += static_cast<std::uint64_t>(times);
        for (int i = 0; i < times; ++i) in_order.push_back({address, in_order.size() + 1});
    }
    return weigh_by_looks(counts, moments, [&](pid_t) -> const Looks& { return in_order; });
}

WindowFacts moment_after(double looks, std::map<std::uint64_t, double> time_by_address) {
    auto moment = moment_at(std::move(time_by_address), 1e6);
    moment.at_look = looks;
    return moment;
}

TEST(KindsOfMoments, APhaseEndsWhereLooksSay) {
    std::vector<WindowFacts> moments{moment_after(100, {{here, 1}}), moment_after(300, {{there, 1}})};
    weigh_in_order({{here, 280}, {there, 120}}, moments);
    EXPECT_NEAR(moments[0].native_ns, 1.4e6, 0.02e6);
    EXPECT_NEAR(moments[1].native_ns, 0.6e6, 0.02e6);
}

TEST(KindsOfMoments, SharedCodeIsOfTheMomentsThatAreNear) {
    // All of both phases is in the same pieces, in unlike shares: looks a little late would say four fifths.
    std::vector<WindowFacts> moments;
    for (int i = 0; i < 20; ++i)
        moments.push_back(moment_after(20 * i + 10, i < 10 ? std::map<std::uint64_t, double>{{here, 4}, {there, 1}}
                                                           : std::map<std::uint64_t, double>{{here, 1}, {there, 4}}));
    weigh_in_order({{here, 400}}, moments);
    double first = 0;
    for (int i = 0; i < 10; ++i) first += moments[static_cast<std::size_t>(i)].native_ns;
    EXPECT_NEAR(first / 20e6, 0.5, 0.1);
}

TEST(KindsOfMoments, WhatComesAndGoesIsOfTheNearestThatHasIt) {
    // Turns are shorter than moments are apart, and five of six moments met the rarer one.
    std::vector<WindowFacts> moments;
    for (int i = 0; i < 12; ++i) moments.push_back(moment_after(40 * i + 20, {{i % 6 == 3 ? here : there, 1}}));
    std::vector<std::pair<std::uint64_t, int>> looks;
    for (int i = 0; i < 120; ++i) {
        looks.emplace_back(here, 3);
        looks.emplace_back(there, 1);
    }
    weigh_in_order(looks, moments);
    EXPECT_NEAR((moments[3].native_ns + moments[9].native_ns) / 12e6, 0.75, 0.05);
}

TEST(KindsOfMoments, WhatNoMomentIsNearToIsSharedOut) {
    // Nothing between the first two moments and the last four, where the copy came to its end.
    std::vector<WindowFacts> moments;
    for (const double at : {10.0, 20.0, 410.0, 420.0, 430.0, 440.0}) moments.push_back(moment_after(at, {{here, 1}}));
    weigh_in_order({{here, 450}}, moments);
    for (const WindowFacts& moment : moments) EXPECT_LT(moment.native_ns, 2.5e6) << moment.at_look;
}

TEST(KindsOfMoments, LooksInOrderSayWhatIsUnmetToo) {
    std::vector<WindowFacts> moments{moment_after(10, {{here, 1}}), moment_after(50, {{here, 1}})};
    EXPECT_DOUBLE_EQ(weigh_in_order({{here, 75}, {elsewhere, 25}}, moments).unmet, 0.25);
}

WindowFacts varied_moment(double cycles, double in_variation) {
    auto moment = moment_at({{here, 1}}, 1e6);
    moment.base = {{"cycles", cycles}, {"misses", cycles / 10}};
    moment.variations.push_back(
        {record::Variation::no_prefetchers, {{"cycles", in_variation}, {"misses", cycles / 5}}, {}, {}, {}});
    return moment;
}

TEST(VaryAsOthers, AMomentVariesAsMuchAsOthersOfItsKindDo) {
    auto plain = moment_at({{here, 1}}, 1e6);
    plain.base = {{"cycles", 50}, {"misses", 1}};
    plain.varied = false;
    auto of_other_kind = varied_moment(100, 500);
    of_other_kind.kind = 1;
    std::vector<WindowFacts> moments{varied_moment(100, 120), of_other_kind, plain};
    vary_as_others(moments);
    ASSERT_EQ(moments[2].variations.size(), 1u);
    EXPECT_EQ(moments[2].variations[0].what, record::Variation::no_prefetchers);
    EXPECT_NEAR(moments[2].variations[0].facts["cycles"], 60, 1e-9);
    EXPECT_NEAR(moments[2].variations[0].facts["misses"], 6, 1e-9) << "5 more of 50 cycles";
    EXPECT_EQ(moments[0].variations.size(), 1u);
}

TEST(VaryAsOthers, OfAKindThatNoneHasAllTell) {
    auto plain = moment_at({{there, 1}}, 1e6);
    plain.base = {{"cycles", 50}};
    plain.varied = false;
    plain.kind = 7;
    std::vector<WindowFacts> moments{varied_moment(100, 120), varied_moment(100, 140), plain};
    vary_as_others(moments);
    EXPECT_NEAR(moments[2].variations.at(0).facts["cycles"], 65, 1e-9);
}

TEST(VaryAsOthers, NoFactBecomesLessThanNothing) {
    auto fewer = varied_moment(100, 90), plain = moment_at({{here, 1}}, 1e6);
    fewer.variations[0].facts["misses"] = 0;
    plain.base = {{"cycles", 50}, {"misses", 1}};
    plain.varied = false;
    std::vector<WindowFacts> moments{fewer, plain};
    vary_as_others(moments);
    EXPECT_EQ(moments[1].variations.at(0).facts, plain.base);
}

TEST(VaryAsOthers, WhereNoneVariesNothingDoes) {
    auto plain = moment_at({{here, 1}}, 1e6);
    plain.varied = false;
    std::vector<WindowFacts> moments{plain};
    vary_as_others(moments);
    EXPECT_TRUE(moments[0].variations.empty());
}

TEST(VaryAsOthers, AFurtherWindowOfAMomentVariesAsTheFirst) {
    for (const bool first_is_varied : {true, false}) {
        auto varied = varied_moment(100, 120), plain = moment_at({{here, 1}}, 0);
        plain.base = {{"cycles", 50}, {"misses", 5}};
        plain.varied = false;
        WindowFacts moment = first_is_varied ? varied : plain;
        merge(moment, first_is_varied ? plain : varied);
        EXPECT_NEAR(moment.base["cycles"], 150, 1e-9);
        ASSERT_EQ(moment.variations.size(), 1u);
        EXPECT_NEAR(moment.variations[0].facts["cycles"], 180, 1e-9) << first_is_varied;
        EXPECT_NEAR(moment.variations[0].facts["misses"], 30, 1e-9) << first_is_varied;
    }
}

TEST(KindsOfMoments, WithoutMomentsThereIsNothingToSay) {
    std::vector<WindowFacts> none;
    EXPECT_EQ(weigh_by_looks({{process, {{here, 900}}}}, none).looks, 0);
}

}  // namespace
}  // namespace tmaprobe::model
