#include "counters/model/core/quiet_cycles.h"

#include <algorithm>
#include <limits>

namespace tmaprobe::counters::model::core {
namespace {

using llvm::mca::Instruction;
using llvm::mca::ReadState;
using llvm::mca::ResourceManager;
using llvm::mca::WriteState;

// LLVM counts its latencies down by one, each cycle, and offers no way to take off more. An explicit
// instantiation may name private members, which is the one way to them without patching LLVM.
template <class Tag, typename Tag::Pointer member>
struct Reveal {
    friend typename Tag::Pointer pointer(Tag) { return member; }
};
#define TMAPROBE_REVEAL(Name, Class, Type, member)    \
    struct Name {                                     \
        using Pointer = Type Class::*;                \
        friend Pointer pointer(Name);                 \
    };                                                \
    template struct Reveal<Name, &Class::member>

using BusyUnits = llvm::SmallDenseMap<llvm::mca::ResourceRef, unsigned>;
TMAPROBE_REVEAL(InstructionLeft, Instruction, int, CyclesLeft);
TMAPROBE_REVEAL(WriteLeft, WriteState, int, CyclesLeft);
TMAPROBE_REVEAL(EarlierWriteLeft, WriteState, unsigned, DependentWriteCyclesLeft);
TMAPROBE_REVEAL(ReadLeft, ReadState, int, CyclesLeft);
TMAPROBE_REVEAL(ReadTotal, ReadState, unsigned, TotalCycles);
TMAPROBE_REVEAL(ReadWrites, ReadState, unsigned, DependentWrites);
TMAPROBE_REVEAL(Busy, ResourceManager, BusyUnits, BusyResources);
#undef TMAPROBE_REVEAL

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t but_the_last(int cycles_left) { return cycles_left > 1 ? static_cast<std::uint64_t>(cycles_left) - 1 : 0; }

/// How many further cycles an instruction in flight stays as it is. Unlimited while it waits for something
/// that has not even issued.
std::uint64_t quiet_cycles_of(const Instruction& instruction) {
    if (instruction.isExecuted() || instruction.isRetired()) return unlimited;
    if (instruction.isExecuting()) return but_the_last(instruction.getCyclesLeft());
    if (instruction.isReady()) return unlimited;  // for older memory operations, which are in flight too
    std::uint64_t quiet = unlimited;
    for (const ReadState& read : instruction.getUses())
        if (!read.isReady() && read.isPending()) quiet = std::min(quiet, but_the_last(read.*pointer(ReadLeft())));
    // A write that merges with an earlier one may start when that is close enough to its end.
    for (const WriteState& write : instruction.getDefs()) {
        const unsigned left = write.getDependentWriteCyclesLeft();
        if (left >= write.getLatency() && left > 0) quiet = std::min<std::uint64_t>(quiet, left - write.getLatency());
    }
    return quiet;
}

/// Lets `cycles` pass for one instruction; at most quiet_cycles_of() it.
void pass_cycles(Instruction& instruction, std::uint64_t cycles) {
    if (instruction.isReady() || instruction.isExecuted() || instruction.isRetired()) return;
    const int passed = static_cast<int>(cycles);
    for (WriteState& write : instruction.getDefs()) {
        int& left = write.*pointer(WriteLeft());
        const bool known = left != llvm::mca::UNKNOWN_CYCLES;
        if (known) left -= passed;
        if (known && left == llvm::mca::UNKNOWN_CYCLES) --left;  // long past is not unknown
        if (instruction.isExecuting()) continue;
        unsigned& earlier = write.*pointer(EarlierWriteLeft());
        earlier -= std::min(earlier, static_cast<unsigned>(cycles));
    }
    if (instruction.isExecuting()) {
        instruction.*pointer(InstructionLeft()) -= passed;
        return;
    }
    for (ReadState& read : instruction.getUses()) {
        unsigned& total = read.*pointer(ReadTotal());
        int& left = read.*pointer(ReadLeft());
        if (read.*pointer(ReadWrites()))
            total -= std::min(total, static_cast<unsigned>(cycles));
        else if (left != llvm::mca::UNKNOWN_CYCLES && left > passed)
            left -= passed;
    }
}

void pass_cycles(ResourceManager& units, std::uint64_t cycles) {
    const BusyUnits& busy = units.*pointer(Busy());
    llvm::SmallVector<llvm::mca::ResourceRef, 8> freed;
    for (; cycles > 0 && !busy.empty(); --cycles) {
        freed.clear();
        units.cycleEvent(freed);
    }
}

}  // namespace

std::uint64_t QuietCycles::passable() const {
    std::uint64_t cycles = front_end_.quiet_cycles();
    for (const auto& dynamic : front_end_.in_flight()) {
        if (cycles == 0) break;
        cycles = std::min(cycles, quiet_cycles_of(dynamic->instruction));
    }
    return cycles == unlimited ? 0 : cycles;
}

std::uint64_t QuietCycles::pass() {
    // Looking through all instructions in flight costs as much as a few cycles of simulation.
    constexpr std::uint64_t worthwhile = 6;
    if (never_ || front_end_.cycle() < not_before_ || front_end_.in_flight().empty() || !scheduler_.isReadySetEmpty()) return 0;
    const Instruction& oldest = front_end_.oldest()->instruction;
    if (quiet_cycles_of(oldest) < worthwhile) return 0;
    const std::uint64_t cycles = passable();
    not_before_ = front_end_.cycle() + cycles;
    if (cycles < worthwhile) return 0;
    for (const auto& dynamic : front_end_.in_flight()) pass_cycles(dynamic->instruction, cycles);
    pass_cycles(units_, cycles);
    front_end_.pass_cycles(cycles);
    return cycles;
}

}  // namespace tmaprobe::counters::model::core
