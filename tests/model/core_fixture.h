#pragma once

// What the tests of the core share: a memory whose latencies a test sets, traces out of bytes.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "model/core/simulate.h"
#include "model/llvm/decoder.h"

namespace tmaprobe::model::core {

/// An instruction's.
using Bytes = std::vector<std::uint8_t>;

inline const Bytes chase_step = {0x48, 0x8b, 0x00};              // mov (%rax), %rax
inline const Bytes load_other = {0x48, 0x8b, 0x0f};              // mov (%rdi), %rcx
inline const Bytes load_rax = {0x48, 0x8b, 0x07};                // mov (%rdi), %rax
inline const Bytes store_rax = {0x48, 0x89, 0x07};               // mov %rax, (%rdi)
inline const Bytes divide = {0x48, 0xf7, 0xf6};                  // div %rsi
inline const Bytes locked_increment = {0xf0, 0x48, 0xff, 0x07};  // lock incq (%rdi)

/// Loads take what the test says; everything else is at hand.
class FixedMemory final : public MemoryTiming {
  public:
    explicit FixedMemory(std::function<Loaded(std::uint64_t)> answer) : answer_(std::move(answer)) {}
    /// Of so many cycles more than a first-level hit, from DRAM.
    explicit FixedMemory(std::function<unsigned(std::uint64_t)> extra_cycles)
        : answer_([extra_cycles = std::move(extra_cycles)](std::uint64_t address) -> Loaded {
              const unsigned extra = extra_cycles(address);
              return {extra, extra ? SlotCause::dram : SlotCause::l1, extra ? 4 : 1};
          }) {}
    Loaded load(std::uint64_t address, std::uint64_t, std::uint64_t) override { return answer_(address); }
    std::uint64_t store(std::uint64_t address, std::uint64_t, std::uint64_t cycle) override {
        return cycle + answer_(address).extra;
    }
    void prefetch(std::uint64_t, std::uint64_t) override {}
    unsigned load_in_vain(std::uint64_t address, std::uint64_t) override { return answer_(address).extra; }
    unsigned fetch(std::uint64_t, std::uint64_t) override { return 0; }

  private:
    std::function<Loaded(std::uint64_t)> answer_;
};

class NeverWrong final : public BranchOracle {
  public:
    Foretold foretell(const trace::StaticInstruction&, bool, std::uint64_t) override { return Foretold::right; }
};

/// Targets are known where the test says.
class Knows final : public BranchOracle {
  public:
    explicit Knows(TargetKnown where) : where_(where) {}
    Foretold foretell(const trace::StaticInstruction&, bool, std::uint64_t) override { return Foretold::right; }
    TargetKnown knows_target(const trace::StaticInstruction&) override { return where_; }

  private:
    TargetKnown where_;
};

inline CoreParameters zen4() {
    CoreParameters parameters;
    parameters.architecture = "x86_64";
    parameters.llvm_cpu = "znver4";
    parameters.slot_width = 6;
    parameters.load_cycles = 4;
    parameters.reorder_buffer = 320;
    parameters.store_buffer = 64;
    return parameters;
}

/// The instructions one after another, over and over; the k-th step's addresses are `address(k)`.
inline trace::Trace trace_of(const std::vector<Bytes>& code, std::size_t steps,
                             const std::function<std::uint64_t(std::size_t)>& address) {
    auto decoder = make_decoder("x86_64");
    trace::Trace trace;
    std::uint64_t at = 0x401000;
    for (const Bytes& bytes : code) {
        trace.instructions.push_back((*decoder)->decode(bytes.data(), bytes.size(), at));
        at += bytes.size();
    }
    for (std::size_t k = 0; k < steps; ++k) {
        const std::uint32_t number = static_cast<std::uint32_t>(k % code.size());
        const trace::StaticInstruction& what = trace.instructions[number];
        trace.steps.push_back({number, what.loads ? address(k) : 0, what.stores ? address(k) : 0});
    }
    return trace;
}

/// Tells another the instructions that steps are of.
class OfInstructions final : public SlotObserver {
  public:
    OfInstructions(const trace::Trace& trace, SlotObserver* to) : trace_(trace), to_(to) {}
    void slots(SlotCause cause, std::uint32_t step, std::uint64_t count) override {
        if (to_) to_->slots(cause, trace_.steps[step].instruction, count);
    }

  private:
    const trace::Trace& trace_;
    SlotObserver* to_;
};

inline PipelineFacts simulate(const CoreParameters& parameters, const trace::Trace& trace, MemoryTiming& memory,
                              SlotObserver* observer = nullptr) {
    auto core = make_core(parameters);
    NeverWrong branches;
    OfInstructions of_instructions(trace, observer);
    const Window window{0, trace.steps.size(), 0, {}, &of_instructions};
    auto simulated = (*core)->simulate(trace, window, memory, branches);
    EXPECT_TRUE(simulated.has_value());
    return simulated ? simulated->facts : PipelineFacts{};
}

inline double cycles_per_step(const CoreParameters& parameters, const std::vector<Bytes>& code,
                              std::uint64_t stride = 0) {
    const trace::Trace trace = trace_of(code, 4000, [&](std::size_t k) { return 0x10000 + k * stride; });
    FixedMemory memory([](std::uint64_t) { return 0u; });
    return static_cast<double>(simulate(parameters, trace, memory).cycles) / 4000;
}

}  // namespace tmaprobe::model::core
