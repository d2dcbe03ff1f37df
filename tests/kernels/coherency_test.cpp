// The kernels in which threads share a line: pingpong and atomic.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/shared_lines.h"

namespace tmaprobe::kernels {
namespace {

Result<std::unique_ptr<Kernel>> make(const std::string& name, std::map<std::string, std::string> options = {},
                                     std::vector<int> cpus = {}) {
    Parameters parameters;
    parameters.options = std::move(options);
    parameters.cpus = std::move(cpus);
    return (*find(name))->make("scalar", parameters);
}

/// Two CPUs, or a reason to skip.
#define TMAPROBE_TWO_CPUS(name)      \
    const auto name = first_cpus(2); \
    if (!name) GTEST_SKIP() << name.error().what

}  // namespace

TEST(PingPong, BouncesWithEitherProtocolAnyNumberOfTimes) {
    TMAPROBE_TWO_CPUS(cpus);
    for (const char* protocol : {"cas", "load"}) {
        auto kernel = make("pingpong", {{"protocol", protocol}, {"line", "7"}}, *cpus);
        ASSERT_TRUE(kernel) << kernel.error().what;
        EXPECT_EQ((*kernel)->per_iteration().operations, 2);
        EXPECT_EQ((*kernel)->threads().size(), 1U);
        for (const std::uint64_t iterations : {1U, 2U, 7U, 1000U}) (*kernel)->run(iterations);
    }
}

TEST(PingPong, ChoosesTwoCpusWhenNoneIsNamed) {
    TMAPROBE_TWO_CPUS(cpus);
    auto kernel = make("pingpong");
    ASSERT_TRUE(kernel) << kernel.error().what;
    (*kernel)->run(10);
}

TEST(PingPong, RefusesOtherThanTwoDistinctCpus) {
    for (const std::vector<int>& cpus : {std::vector<int>{0}, {0, 0}, {0, 1, 2}}) {
        const auto kernel = make("pingpong", {}, cpus);
        ASSERT_FALSE(kernel) << cpus.size();
        EXPECT_EQ(kernel.error().code, ErrorCode::bad_usage);
        EXPECT_FALSE(kernel.error().hint.empty());
    }
}

TEST(PingPong, RefusesBadOptions) {
    for (const auto& [name, value] : {std::pair{"protocol", "udp"}, {"line", "64"}, {"line", "x"}, {"balls", "2"}}) {
        const auto kernel = make("pingpong", {{name, value}});
        ASSERT_FALSE(kernel) << name;
        EXPECT_EQ(kernel.error().code, ErrorCode::bad_usage) << kernel.error().what;
    }
}

TEST(Atomic, RunsOnOneCpuWithAndWithoutLock) {
    for (const char* op : {"lockinc", "inc"}) {
        auto kernel = make("atomic", {{"op", op}});
        ASSERT_TRUE(kernel) << kernel.error().what;
        EXPECT_EQ((*kernel)->per_iteration().operations, 16);
        (*kernel)->run(101);
    }
}

TEST(Atomic, RunsOnTwoCpusInEverySharing) {
    TMAPROBE_TWO_CPUS(cpus);
    for (const char* sharing : {"one", "false", "padded"}) {
        auto kernel = make("atomic", {{"sharing", sharing}}, *cpus);
        ASSERT_TRUE(kernel) << kernel.error().what;
        EXPECT_EQ((*kernel)->per_iteration().loads, 32);
        (*kernel)->run(1000);
    }
}

TEST(Atomic, RefusesMoreThreadsThanALineHasRoomFor) {
    const auto kernel = make("atomic", {{"sharing", "false"}}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, ErrorCode::bad_usage);
}

TEST(Coherency, KernelsWithoutABlockTakeNoSizeAndNoPages) {
    Parameters parameters;
    parameters.size_bytes = 4096;
    for (const char* name : {"pingpong", "atomic"}) {
        const auto kernel = (*find(name))->make("scalar", parameters);
        ASSERT_FALSE(kernel) << name;
        EXPECT_EQ(kernel.error().code, ErrorCode::bad_usage);
        EXPECT_NE(kernel.error().hint.find("--size"), std::string::npos);
    }
}

}  // namespace tmaprobe::kernels
