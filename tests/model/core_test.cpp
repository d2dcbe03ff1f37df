#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "model/core/store_forwarding.h"
#include "tests/model/core_fixture.h"

namespace tmaprobe::model::core {
namespace {

#if defined(__x86_64__)

const Bytes multiply_add = {0xc4, 0xe2, 0xf1, 0xb8, 0xc2};  // vfmadd231pd %xmm2, %xmm1, %xmm0
const Bytes increment = {0x48, 0xff, 0x07};                 // incq (%rdi)

// Under AddressSanitizer above all: a core outlives the traces that it was shown.
TEST(Core, KeepsNothingOfATraceThatIsGone) {
    const auto trace = [] {
        return trace_of(std::vector<Bytes>(3000, load_other), 3000, [](std::size_t) { return 0x10000; });
    };
    auto core = make_core(zen4());
    FixedMemory memory([](std::uint64_t) { return 0u; });
    NeverWrong branches;
    const Window window{0, 3000, 0, {}, nullptr};
    auto first = std::make_unique<trace::Trace>(trace());
    const trace::Trace second = trace();
    const auto before = (*core)->simulate(*first, window, memory, branches);
    first.reset();
    const auto after = (*core)->simulate(second, window, memory, branches);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(named(before->facts), named(after->facts));
}

TEST(StoreForwarding, ALoadWaitsForTheStoreToItsAddress) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 7;
    // The last of them need not be done when the last is renamed.
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax, load_rax}), 7 / 2.0, 0.2);
    parameters.renames_memory = true;
    EXPECT_NEAR(cycles_per_step(parameters, {store_rax, load_rax}), 0.5, 0.2);
    // Other addresses do not wait for one another.
    parameters.renames_memory = false;
    EXPECT_LT(cycles_per_step(parameters, {store_rax, load_rax}, 64), 1.2);
}

TEST(StoreForwarding, MemoryIsRenamedOnKnownPathsOnly) {
    EXPECT_TRUE(KnownPaths(0, 16).is_known());
    EXPECT_TRUE(KnownPaths(64, 16).is_known()) << "no branch was taken so far";
    // So many branches, taken in a row, over and over: as many paths.
    const auto known_of = [](std::size_t branches) {
        KnownPaths paths(64, 16);
        std::size_t known = 0;
        constexpr std::size_t rounds = 100;
        for (std::size_t i = 0; i < rounds * branches; ++i) {
            paths.took(0x401000 + i % branches * 12);
            known += paths.is_known();
        }
        return static_cast<double>(known) / static_cast<double>(rounds * branches);
    };
    EXPECT_GT(known_of(1), 0.8);
    EXPECT_GT(known_of(20), 0.8);
    EXPECT_LT(known_of(400), 0.1);
    KnownPaths all(0, 16);
    all.took(0x401000);
    EXPECT_TRUE(all.is_known());
}

TEST(StoreForwarding, AnIncrementInMemoryIsAChain) {
    CoreParameters parameters = zen4();
    parameters.store_forward_cycles = 4;
    EXPECT_NEAR(cycles_per_step(parameters, {increment}), 5, 1.1);
    EXPECT_LT(cycles_per_step(parameters, {increment}, 64), 1.6);
}

TEST(LockedOperations, CostWhatTheGeometrySays) {
    CoreParameters parameters = zen4();
    parameters.lock_cycles = 18;
    EXPECT_NEAR(cycles_per_step(parameters, {locked_increment}), 18, 1);
    EXPECT_NEAR(cycles_per_step(parameters, {locked_increment}, 64), 18, 1);  // nothing passes it either
    parameters.lock_cycles = 0;
    EXPECT_LT(cycles_per_step(parameters, {locked_increment}, 64), 8);
}

TEST(PlainLoads, TakeTheGeometrysFirstLevelLatency) {
    CoreParameters parameters = zen4();
    for (const unsigned cycles : {3u, 4u}) {
        parameters.load_cycles = cycles;
        EXPECT_NEAR(cycles_per_step(parameters, {chase_step}), cycles, 0.1);
    }
}

#endif

}  // namespace
}  // namespace tmaprobe::model::core
