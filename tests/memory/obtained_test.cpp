#include "memory/obtained.h"

#include <gtest/gtest.h>

namespace tmaprobe::memory {
namespace {

constexpr std::uint64_t two_mebibytes = 2 << 20;

/// Three mappings as /proc/self/smaps shows them: half huge, hugetlb, all small.
constexpr const char* smaps = R"(7f0000000000-7f0000800000 rw-p 00000000 00:00 0
Size:               8192 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
Rss:                8192 kB
AnonHugePages:      4096 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:       0 kB
VmFlags: rd wr mr mw me ac sd hg
7f1000000000-7f1000400000 rw-s 00000000 00:10 4097    /anon_hugepage (deleted)
Size:               4096 kB
KernelPageSize:     2048 kB
MMUPageSize:        2048 kB
Rss:                   0 kB
AnonHugePages:         0 kB
Shared_Hugetlb:     2048 kB
Private_Hugetlb:    2048 kB
7f2000000000-7f2000004000 rw-p 00000000 00:00 0
Size:                 16 kB
KernelPageSize:        4 kB
Rss:                  12 kB
AnonHugePages:         0 kB
)";

}  // namespace

TEST(ParseSmaps, SplitsAMappingThatIsOnlyPartlyHuge) {
    EXPECT_EQ(parse_smaps(smaps, 0x7f0000000000, two_mebibytes), (ObtainedBytes{{"2m", 4 << 20}, {"4k", 4 << 20}}));
}

TEST(ParseSmaps, TakesHugetlbPagesByTheirOwnSizeSharedOrNot) {
    EXPECT_EQ(parse_smaps(smaps, 0x7f1000000000, two_mebibytes), (ObtainedBytes{{"2m", 4 << 20}}));
}

TEST(ParseSmaps, CountsResidentBytesOnly) {
    EXPECT_EQ(parse_smaps(smaps, 0x7f2000000000, two_mebibytes), (ObtainedBytes{{"4k", 12 << 10}}));
}

TEST(ParseSmaps, GivesNothingForAMappingThatIsNotThere) {
    EXPECT_TRUE(parse_smaps(smaps, 0x7f0000001000, two_mebibytes).empty());
    EXPECT_TRUE(parse_smaps("", 0x7f0000000000, two_mebibytes).empty());
    EXPECT_TRUE(parse_smaps("garbage\nRss: 12 kB\n7f00", 0x7f00, two_mebibytes).empty());
}

}  // namespace tmaprobe::memory
