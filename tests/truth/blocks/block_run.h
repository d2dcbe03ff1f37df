#pragma once

// Runs a basic block of some program as a loop of many copies, in a process of its own: every register holds one
// mapped address, and every page that it touches is the same physical page.

#include <cstdint>
#include <functional>
#include <vector>

namespace tmaprobe::truth {

using Bytes = std::vector<std::uint8_t>;

/// Addresses of a step of the block, as the tests' decoder gives them.
struct StepAddresses {
    std::uint64_t load = 0, store = 0;
};

/// Copies of a block that make a loop of some `instructions` instructions.
std::size_t copies_for(std::size_t block_instructions, std::size_t instructions);

/// The register file at an instruction, in the order of MemoryOperand.
struct Registers {
    std::uint64_t general[16] = {};
    std::uint64_t instruction_pointer = 0;
};

/// Core cycles of one copy by the clock: the loop with twice the copies less the loop with `copies`, third fastest
/// of eight within 2% of the fastest, between two quiet canaries. Negative: why it was dropped (see DropReason).
double measure_block(const Bytes& block, std::size_t copies);

enum DropReason : int { dropped_fault = -1, dropped_unsteady = -2, dropped_busy = -3 };

/// Steps through `copies` copies once and hands over the registers before each instruction. False when the block
/// cannot be run.
bool step_block(const Bytes& block, std::size_t copies, const std::function<void(const Registers&)>& on_step,
                std::uint64_t& first_address);

}  // namespace tmaprobe::truth
