#include "process/mappings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace tmaprobe::process {
namespace {

TEST(Mappings, OfCodeAreTheExecutableLines) {
    const auto all = parse_mappings(
        "55d0c0000000-55d0c0001000 r--p 00000000 fe:00 1234                       /usr/bin/my prog\n"
        "55d0c0001000-55d0c0005000 r-xp 00001000 fe:00 1234                       /usr/bin/my prog\n"
        "7f0000000000-7f0000002000 rwxp 00000000 00:00 0 \n"
        "7f1000000000-7f1000002000 r-xp 00003000 fe:00 99                         /tmp/x.so (deleted)\n"
        "7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]\n"
        "no line of it\n");
    ASSERT_EQ(all.size(), 5u);
    EXPECT_EQ(all[0], (MemoryMapping{
                          {0x55d0c0000000, 0x55d0c0001000, 0, 1234, "/usr/bin/my prog", false}, false, false, false}));
    EXPECT_TRUE(all[2].writable);
    const auto mappings = code_of(all);
    ASSERT_EQ(mappings.size(), 4u);
    EXPECT_EQ(mappings[0], (CodeMapping{0x55d0c0001000, 0x55d0c0005000, 0x1000, 1234, "/usr/bin/my prog", false}));
    EXPECT_EQ(mappings[1], (CodeMapping{0x7f0000000000, 0x7f0000002000, 0, 0, "", false}));
    EXPECT_EQ(mappings[2], (CodeMapping{0x7f1000000000, 0x7f1000002000, 0x3000, 99, "/tmp/x.so", true}));
    EXPECT_EQ(mappings[3].path, "[vdso]");
}

TEST(Mappings, AreFoundByAddress) {
    const auto mappings = parse_mappings("1000-2000 rw-p 0 00:00 0\n3000-4000 rw-s 0 00:00 0\n");
    EXPECT_EQ(mapping_at(mappings, 0x1000), &mappings[0]);
    EXPECT_EQ(mapping_at(mappings, 0x3fff), &mappings[1]);
    EXPECT_TRUE(mappings[1].shared);
    for (const std::uint64_t nowhere : {0x0fff, 0x2000, 0x4000}) EXPECT_EQ(mapping_at(mappings, nowhere), nullptr);
}

TEST(Mappings, OfThisProcessHoldThisFunction) {
    const auto here = reinterpret_cast<std::uint64_t>(&parse_mappings);
    const auto mappings = code_mappings_of(::getpid());
    EXPECT_TRUE(std::any_of(mappings.begin(), mappings.end(),
                            [&](const auto& mapping) { return here >= mapping.begin && here < mapping.end; }));
    EXPECT_TRUE(code_mappings_of(-1).empty());
}

}  // namespace
}  // namespace tmaprobe::process
