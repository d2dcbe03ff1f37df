#include "machine/kernel_version.h"

#include <gtest/gtest.h>

namespace tmaprobe::machine {
namespace {

TEST(KernelVersion, IsTheNumbersAtTheBeginning) {
    EXPECT_EQ(parse_kernel_version("6.1.22"), (KernelVersion{6, 1, 22}));
    EXPECT_EQ(parse_kernel_version("6.12-rc3"), (KernelVersion{6, 12, 0}));
    EXPECT_EQ(parse_kernel_version("5.15.0-92-generic"), (KernelVersion{5, 15, 0}));
    EXPECT_EQ(parse_kernel_version("6."), (KernelVersion{6, 0, 0}));
    EXPECT_EQ(parse_kernel_version("unknown"), KernelVersion{});
    EXPECT_EQ(parse_kernel_version(""), KernelVersion{});
}

TEST(KernelVersion, OfADistributionIsThatOfUpstream) {
    EXPECT_EQ(upstream_version("6.1.0-18-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)", ""),
              (KernelVersion{6, 1, 76}));
    EXPECT_EQ(upstream_version("5.15.0-92-generic", "#102-Ubuntu SMP Wed Jan 10 09:33:48 UTC 2024",
                               "Ubuntu 5.15.0-92.102-generic 5.15.131"),
              (KernelVersion{5, 15, 131}));
    EXPECT_EQ(upstream_version("6.18.44-custom", "#1 SMP", ""), (KernelVersion{6, 18, 44}));
    EXPECT_EQ(upstream_version("6.9.3", "built on Debian 6.1.76-1", ""), (KernelVersion{6, 9, 3}))
        << "of another kernel";
}

}  // namespace
}  // namespace tmaprobe::machine
