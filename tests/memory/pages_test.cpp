#include "memory/pages.h"

#include "base/sizes.h"

#include <gtest/gtest.h>

namespace tmaprobe::memory {

TEST(PageModes, BeginWithTheBasePageAndParseByTheirOwnNames) {
    const auto modes = page_modes();
    ASSERT_FALSE(modes.empty());
    EXPECT_EQ(modes.front().page_bytes, base_page_bytes());
    EXPECT_FALSE(modes.front().hugetlb || modes.front().transparent);
    for (const PageMode& mode : modes) {
        const auto parsed = parse_page_mode(mode.name);
        ASSERT_TRUE(parsed) << mode.name;
        EXPECT_EQ(parsed->page_bytes, mode.page_bytes);
        EXPECT_EQ(parsed->hugetlb, mode.hugetlb);
    }
}

TEST(PageModes, NonsenseIsBadUsageAndNamesWhatThereIs) {
    for (const char* name : {"", "3k", "huge", "4kb", "-2m"}) {
        const auto parsed = parse_page_mode(name);
        ASSERT_FALSE(parsed) << name;
        EXPECT_EQ(parsed.error().code, ErrorCode::bad_usage) << name;
        EXPECT_FALSE(parsed.error().hint.empty()) << name;
    }
}

TEST(PageModes, AnotherMachinesModeIsUnavailable) {
    const auto parsed = parse_page_mode("16g");  // of Arm with base pages of 64 KiB
    if (parsed) GTEST_SKIP() << "this kernel has pages of 16g";
    EXPECT_EQ(parsed.error().code, ErrorCode::unavailable);
    EXPECT_NE(parsed.error().hint.find(format_page_size(base_page_bytes())), std::string::npos);
}

}  // namespace tmaprobe::memory
