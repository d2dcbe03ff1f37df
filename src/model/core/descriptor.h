#pragma once

// All that the pipeline needs to know of one instruction in memory, worked out once.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "trace/trace.h"

namespace tmaprobe::model::core {

/// A register as far as dependencies go: all widths of one register are one unit, flags are two.
using Unit = std::uint16_t;
constexpr Unit no_unit = 0xffff;
constexpr std::uint64_t line_bytes = 64;  ///< of a cache
constexpr std::size_t most_units = 1024, most_ports = 64, most_pools = 16;

/// The parts that an instruction is executed in: address and load, operation, store.
enum class Part : std::uint8_t { load, operation, store };

struct Use {
    Unit unit = 0;
    Part part = Part::operation;  ///< load: part of an address
    std::int8_t advance = 0;      ///< cycles after issue at which it is needed; negative: a way that takes longer

    /// The cycle from which on this can go ahead, of a value that is ready in another; 0: from the first on.
    std::uint64_t usable_from(std::uint64_t ready) const {
        const std::int64_t cycle = static_cast<std::int64_t>(ready) - advance;
        return cycle > 0 ? static_cast<std::uint64_t>(cycle) : 0;
    }
};

struct Definition {
    Unit unit = 0;
    std::uint16_t latency = 0;       ///< from the issue of its part
    Part part = Part::operation;     ///< load: of the address, such as a base register that is moved on
    bool as_soon_as_source = false;  ///< known at renaming: a sum with a constant, a copy
};

/// `cycles` cycles of any of `ports`.
struct PortUse {
    std::uint64_t ports = 0;
    std::uint8_t cycles = 1;
    Part part = Part::operation;
    std::uint16_t pools = 0;        ///< schedulers that it may wait in, a bit each; 0: none
    bool is_unit = false;           ///< no port, but what the ports after it are taken together with: a divider
    std::uint8_t alike_before = 0;  ///< of the uses before this one, those that wait in the same schedulers
};

/// A list of fixed room: descriptors lie together.
template <class T, std::size_t room>
struct Few {
    std::array<T, room> items{};
    std::uint8_t count = 0;
    bool push(const T& item) {
        if (count == room) return false;
        items[count++] = item;
        return true;
    }
    const T* begin() const { return items.data(); }
    const T* end() const { return items.data() + count; }
    T* begin() { return items.data(); }
    T* end() { return items.data() + count; }
};

struct InstructionDescriptor {
    bool modelled = false;
    Few<Use, 12> uses;
    Few<Definition, 10> definitions;
    Few<PortUse, 12> ports;
    std::uint8_t load_uses = 0, operation_uses = 0, store_uses = 0;  ///< of `ports`, in this order
    std::uint16_t slots = 1;                                         ///< at renaming
    std::uint16_t load_latency = 0;                                  ///< of its load, from issue, in the first level
    std::uint16_t latency = 0;                                       ///< of its operation: the longest
    std::uint8_t load_bytes = 0, store_bytes = 0;
    std::uint8_t alike = 0, sooner_among_alike = 0;  ///< a group, 0: none, whose members hand on results so much sooner
    std::uint8_t length = 0;
    std::uint8_t fetch_cycles = 0, decode_cycles = 0;  ///< that it takes longer in any case, and from the decoders
    std::uint8_t op_cache_entries = 1;
    bool loads = false, stores = false, prefetch = false, locked = false, serializes = false;
    bool branch = false, conditional = false;
    bool microcoded = false;
    bool moves_string = false;                           ///< a repeated movs or stos: a piece of 32 bytes
    bool executes = true;                                ///< false: done at renaming (copies, zeros, sums, nops)
    std::int16_t constant = 0;                           ///< that is added to a register at renaming
    bool writes_general = false, writes_vector = false;  ///< takes a physical register
    bool moves_stack = false;             ///< push, pop, call, return: the stack pointer changes at renaming
    bool reads_stack = false;             ///< an explicit operand
    Unit stack = no_unit;                 ///< of the stack pointer, if so
    std::int32_t stack_change = 0;        ///< bytes that a push, a pop or a sum with a constant moves it by
    std::uint16_t registers_written = 0;  ///< a bit for each general one of x86, but for what `stack_change` says
    bool renamable_load = false, renamable_store = false;  ///< plain, of a general register
    bool fused = false;                                    ///< the first half of a fused pair
    bool joins_previous = false;                           ///< takes no slot of its own, but room in the op cache
    trace::StaticInstruction what;                         ///< a copy: the trace of a window ends with the window

    /// Of `ports`, which lie in the order of parts: what has to be done again once they are others.
    void count_uses() {
        load_uses = operation_uses = store_uses = 0;
        for (PortUse* use = ports.begin(); use != ports.end(); ++use) {
            ++(use->part == Part::load ? load_uses : use->part == Part::store ? store_uses : operation_uses);
            const auto waits_with_it = [&](const PortUse& before) { return before.pools == use->pools; };
            use->alike_before = static_cast<std::uint8_t>(std::count_if(ports.begin(), use, waits_with_it));
        }
    }
    std::span<const PortUse> ports_of(Part part) const {
        const std::size_t loads_end = load_uses, operations_end = loads_end + operation_uses;
        if (part == Part::load) return {ports.begin(), loads_end};
        if (part == Part::operation) return {ports.begin() + loads_end, operation_uses};
        return {ports.begin() + operations_end, store_uses};
    }
    /// The first register that its operation reads; no_unit: it reads none.
    Unit source() const {
        for (const Use& use : uses)
            if (use.part == Part::operation) return use.unit;
        return no_unit;
    }
};

/// When what an instruction needs of registers is there: for its address, and for its operation; 0: all along.
struct Operands {
    std::uint64_t address = 0, operation = 0;
};

/// `ready`: of a use, the cycle in which its value is.
template <class Ready>
Operands operands_of(const InstructionDescriptor& what, Ready&& ready) {
    Operands found;
    for (const Use& use : what.uses) {
        const std::uint64_t from = use.usable_from(ready(use));
        const bool of_address = use.part == Part::load;
        found.address = std::max(found.address, of_address ? from : 0);
        found.operation = std::max(found.operation, of_address ? 0 : from);
    }
    return found;
}

}  // namespace tmaprobe::model::core
