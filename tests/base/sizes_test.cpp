#include "base/sizes.h"

#include <gtest/gtest.h>

namespace tmaprobe {
namespace {

TEST(ParseSize, TakesBinarySuffixes) {
    EXPECT_EQ(*parse_size("64"), 64u);
    EXPECT_EQ(*parse_size("16K"), 16u << 10);
    EXPECT_EQ(*parse_size("16k"), 16u << 10);
    EXPECT_EQ(*parse_size("8MiB"), 8u << 20);
    EXPECT_EQ(*parse_size("2GB"), std::uint64_t{2} << 30);
    EXPECT_EQ(*parse_size("1T"), std::uint64_t{1} << 40);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
    for (const char* text :
         {"", "K", "-1", "1.5M", "16X", "16KK", "16 K", "0", "0K", "99999999999999999999", "9999999999T"}) {
        const auto size = parse_size(text);
        ASSERT_FALSE(size) << text;
        EXPECT_EQ(size.error().code, ErrorCode::bad_usage) << text;
    }
}

TEST(FormatSize, IsExactAndReadsBack) {
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{1500}, std::uint64_t{16384},
                                      std::uint64_t{3} << 20, std::uint64_t{1} << 40, (std::uint64_t{1} << 30) + 1024})
        EXPECT_EQ(*parse_size(format_size(bytes)), bytes);
    EXPECT_EQ(format_size(16384), "16K");
    EXPECT_EQ(format_size(1500), "1500");
    EXPECT_EQ(format_size(0), "0");
}

TEST(FormatRate, KeepsThreeDigits) {
    EXPECT_EQ(format_rate(2.04e9), "2.04 GB/s");
    EXPECT_EQ(format_rate(999.6e6), "1.00 GB/s");
    EXPECT_EQ(format_rate(392e6), "392 MB/s");
    EXPECT_EQ(format_rate(11.36e9), "11.4 GB/s");
}

TEST(FormatNs, PicksTheUnit) {
    EXPECT_EQ(format_ns(1.3), "1.30 ns");
    EXPECT_EQ(format_ns(15'000), "15.0 us");
    EXPECT_EQ(format_ns(2.5e9), "2.50 s");
}

TEST(FormatPageSize, IsTheSizeInLowerCase) {
    EXPECT_EQ(format_page_size(4096), "4k");
    EXPECT_EQ(format_page_size(65536), "64k");
    EXPECT_EQ(format_page_size(2 << 20), "2m");
    EXPECT_EQ(format_page_size(1 << 30), "1g");
}

}  // namespace
}  // namespace tmaprobe
