#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "counters/model/core/decoder.h"
#include "counters/model/core/simulate.h"

namespace tmaprobe::counters::model::core {
namespace {

#if defined(__x86_64__)

/// Loads take what the test says; everything else is at hand.
class FixedMemory final : public MemoryTiming {
  public:
    explicit FixedMemory(std::function<unsigned(std::uint64_t)> extra) : extra_(std::move(extra)) {}
    Loaded load(std::uint64_t address, std::uint64_t, std::uint64_t) override {
        const unsigned extra = extra_(address);
        return {extra, extra ? Cause::dram : Cause::l1};
    }
    std::uint64_t store(std::uint64_t address, std::uint64_t, std::uint64_t cycle) override { return cycle + extra_(address); }
    void prefetch(std::uint64_t, std::uint64_t) override {}
    unsigned fetch(std::uint64_t, std::uint64_t) override { return 0; }

  private:
    std::function<unsigned(std::uint64_t)> extra_;
};

class NeverWrong final : public BranchOracle {
  public:
    bool mispredicts(const StaticInstruction&, bool, std::uint64_t) override { return false; }
};

CoreParameters zen4() {
    CoreParameters parameters;
    parameters.architecture = "x86_64";
    parameters.llvm_cpu = "znver4";
    parameters.slot_width = 6;
    parameters.load_cycles = 4;
    parameters.reorder_buffer = 320;
    parameters.store_buffer = 64;
    return parameters;
}

using Bytes = std::vector<std::uint8_t>;

/// The instructions one after another, over and over; the k-th step's addresses are `address(k)`.
Trace trace_of(const std::vector<Bytes>& code, std::size_t steps, const std::function<std::uint64_t(std::size_t)>& address) {
    auto decoder = make_decoder("x86_64");
    Trace trace;
    std::uint64_t at = 0x401000;
    for (const Bytes& bytes : code) {
        trace.instructions.push_back((*decoder)->decode(bytes.data(), bytes.size(), at));
        at += bytes.size();
    }
    for (std::size_t k = 0; k < steps; ++k) {
        const std::uint32_t number = static_cast<std::uint32_t>(k % code.size());
        const StaticInstruction& what = trace.instructions[number];
        trace.steps.push_back({number, what.loads ? address(k) : 0, what.stores ? address(k) : 0});
    }
    return trace;
}

PipelineFacts simulate(const CoreParameters& parameters, const Trace& trace, FixedMemory& memory, SlotObserver* observer = nullptr) {
    auto core = make_core(parameters);
    NeverWrong branches;
    const Window window{0, trace.steps.size(), 0, {}, observer};
    auto simulated = (*core)->simulate(trace, window, memory, branches);
    EXPECT_TRUE(simulated.has_value());
    return simulated ? simulated->facts : PipelineFacts{};
}

double cycles_per_step(const CoreParameters& parameters, const std::vector<Bytes>& code, std::uint64_t stride = 0) {
    const Trace trace = trace_of(code, 4000, [&](std::size_t k) { return 0x10000 + k * stride; });
    FixedMemory memory([](std::uint64_t) { return 0u; });
    return static_cast<double>(simulate(parameters, trace, memory).cycles) / 4000;
}

const Bytes chase_step = {0x48, 0x8b, 0x00};                   // mov (%rax), %rax
const Bytes load_other = {0x48, 0x8b, 0x0f};                   // mov (%rdi), %rcx
const Bytes divide = {0x48, 0xf7, 0xf6};                       // div %rsi
const Bytes multiply_add = {0xc4, 0xe2, 0xf1, 0xb8, 0xc2};     // vfmadd231pd %xmm2, %xmm1, %xmm0
const Bytes store_rax = {0x48, 0x89, 0x07};                    // mov %rax, (%rdi)
const Bytes load_rax = {0x48, 0x8b, 0x07};                     // mov (%rdi), %rax
const Bytes increment = {0x48, 0xff, 0x07};                    // incq (%rdi)
const Bytes locked_increment = {0xf0, 0x48, 0xff, 0x07};       // lock incq (%rdi)

// Under AddressSanitizer above all: a core outlives the traces that it was shown.
TEST(Core, KeepsNothingOfATraceThatIsGone) {
    const auto trace = [] { return trace_of(std::vector<Bytes>(3000, load_other), 3000, [](std::size_t) { return 0x10000; }); };
    auto core = make_core(zen4());
    FixedMemory memory([](std::uint64_t) { return 0u; });
    NeverWrong branches;
    const Window window{0, 3000, 0, {}, nullptr};
    auto first = std::make_unique<Trace>(trace());
    const Trace second = trace();
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
}  // namespace tmaprobe::counters::model::core
