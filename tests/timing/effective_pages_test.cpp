#include "timing/effective_pages.h"

#include "base/sizes.h"

#include <gtest/gtest.h>

namespace tmaprobe::timing {
namespace {

TEST(EffectivePages, AreSmallWhereTheExtraTimeRemains) {
    const EffectivePages pages = judge_page_walks({4.6, 22, 16}, "2m");
    EXPECT_EQ(pages.name, "4k");
    EXPECT_NEAR(pages.kept_share, 0.655, 0.001);
    EXPECT_NE(pages.why.find("splits"), std::string::npos);
}

TEST(EffectivePages, AreSmallWhereAStrangerSlowsTheSmallPagesWalk) {
    const EffectivePages pages = judge_page_walks({4.4, 62, 16.4}, "2m");
    EXPECT_LT(pages.kept_share, 0.25);
    EXPECT_EQ(pages.name, "4k");
}

TEST(EffectivePages, AreLargeWhereItGoesAway) {
    EXPECT_EQ(judge_page_walks({4.6, 22, 5.0}, "2m").name, "2m");
    EXPECT_EQ(judge_page_walks({4.6, 22, 4.5}, "2m").name, "2m");  // noise below the dense walk
    EXPECT_EQ(judge_page_walks({4.6, 22, 4.5}, "2m").kept_share, 0);
}

TEST(EffectivePages, OfGigabytePagesAreCertainUpToTwoMegabytes) {
    EXPECT_EQ(judge_page_walks({4.6, 22, 5.0}, "1g").name, "2m");
}

TEST(EffectivePages, AreOpenWhereScatteringCostsNothing) {
    EXPECT_EQ(judge_page_walks({4.6, 4.7, 4.7}, "2m").name, "");
    EXPECT_EQ(judge_page_walks({0, 0, 0}, "2m").name, "");
}

TEST(EffectivePages, OfBasePagesAndBareMetalNeedNoWalk) {
    const auto base = memory::parse_page_mode(format_page_size(memory::base_page_bytes()));
    ASSERT_TRUE(base);
    machine::Host guest;
    guest.hypervisor = "KVM";
    EXPECT_EQ(effective_pages(guest, *base, std::nullopt).name, base->name);
    memory::PageMode huge;
    huge.name = "2m";
    huge.page_bytes = std::uint64_t{2} << 20;
    huge.hugetlb = true;
    EXPECT_EQ(effective_pages({}, huge, std::nullopt).name, "2m");
}

TEST(EffectivePages, AreOpenWithoutTheMemory) {
    machine::Host guest;
    guest.hypervisor = "KVM";
    memory::PageMode none;
    none.name = "16g";
    none.page_bytes = std::uint64_t{16} << 30;
    none.hugetlb = true;
    const EffectivePages pages = effective_pages(guest, none, std::nullopt);
    EXPECT_EQ(pages.name, "");
    EXPECT_FALSE(pages.why.empty());
}

}  // namespace
}  // namespace tmaprobe::timing
