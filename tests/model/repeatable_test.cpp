#include <sys/mman.h>

#include "model/own_addresses.h"
#include "tests/model/fixture.h"

namespace tmaprobe::model {
namespace {

#if defined(__x86_64__)

/// Phases that differ, each of some milliseconds, over a block wherever that lies: windows by the clock would meet one
/// or the other.
void work_in_phases(volatile std::uint64_t* block, std::size_t words, std::uint64_t iterations) {
    std::uint64_t state = 1;
    for (; iterations; --iterations) {
        for (int i = 0; i < 100000; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            if (state >> 63) block[(state >> 30) % words] = state;
        }
        for (int i = 0; i < 100000; ++i) state /= 3 + (state & 1);
    }
}

TEST(RepeatableKernel, GivesTheSameAnswerWhereverItsMemoryLiesAndHoweverOftenItIsTimed) {
    constexpr std::size_t bytes = 4u << 20, page = 4096;
    std::vector<std::map<std::string, double>> answers;
    std::vector<std::map<std::string, double>> metrics;
    for (std::uint64_t run = 0; run < 3; ++run) {
        void* const moved = ::mmap(nullptr, (3 + 7 * run) * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void* const block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(block, MAP_FAILED);
        ::madvise(block, bytes, MADV_NOHUGEPAGE);
        FunctionWorkload workload([block](std::uint64_t iterations) {
            work_in_phases(static_cast<volatile std::uint64_t*>(block), bytes / 8, iterations);
        });
        workload.run(run);
        auto evaluated = model_of(workload, "amdzen4", {}, 10 + 1000 * run);
        ASSERT_TRUE(evaluated.sample.model.has_value());
        const auto& facts = evaluated.sample.model->facts;
        answers.emplace_back(facts.begin(), facts.end());
        metrics.push_back(evaluated.metrics);
        ::munmap(moved, (3 + 7 * run) * page);
        // The block stays: the next one lies elsewhere.
    }
    EXPECT_GT(answers[0]["cycles"], 0);
    EXPECT_EQ(answers[0], answers[1]);
    EXPECT_EQ(answers[0], answers[2]);
    EXPECT_EQ(metrics[0], metrics[1]);
    EXPECT_EQ(metrics[0], metrics[2]);
}

#endif

TEST(OwnAddresses, MappingsHavePlacesInTheOrderInWhichTheyAreMet) {
    const trace::PageMap small = trace::PageMap::uniform(4096);
    OwnAddresses one("10000-20000 r-xp 0 0 0 a\n7f0000001000-7f0000005000 rw-p 0 0 0\n", small);
    OwnAddresses other("55550000-55560000 r-xp 0 0 0 a\n7fff12345000-7fff12349000 rw-p 0 0 0\n", small);
    EXPECT_EQ(one.own(0x7f0000001010), other.own(0x7fff12345010));
    EXPECT_EQ(one.own(0x10020), other.own(0x55550020));
    EXPECT_EQ(one.own(0x7f0000002000) - one.own(0x7f0000001000), 0x1000u);
    EXPECT_EQ(one.real(one.own(0x7f0000004fff)), 0x7f0000004fffu);
    EXPECT_EQ(one.real(one.own(0x10020)), 0x10020u);
}

TEST(OwnAddresses, WhatIsInNoMappingStaysAsItIs) {
    OwnAddresses addresses("10000-20000 r-xp 0 0 0 a\n", trace::PageMap::uniform(4096));
    EXPECT_EQ(addresses.own(0), 0u) << "no access";
    EXPECT_EQ(addresses.own(0x20000), 0x20000u);
    EXPECT_EQ(addresses.real(0x30000), 0x30000u);
    EXPECT_TRUE(OwnAddresses().empty());
    OwnAddresses none;
    EXPECT_EQ(none.own(0x1234), 0x1234u);
}

TEST(OwnAddresses, HugePagesKeepTheirPositionInThePage) {
    constexpr std::uint64_t large = 2u << 20;
    OwnAddresses addresses("7f0000100000-7f0000a00000 rw-p 0 0 0\n", trace::PageMap::uniform(large));
    EXPECT_EQ(addresses.own(0x7f0000200000) % large, 0u);
    OwnAddresses small("7f0000100000-7f0000a00000 rw-p 0 0 0\n", trace::PageMap::uniform(4096));
    EXPECT_EQ(small.own(0x7f0000100000) % large, 0u);
}

}  // namespace
}  // namespace tmaprobe::model
