#pragma once

#include <functional>
#include <span>

#include "trace/block_plan.h"
#include "trace/code_emitter.h"

namespace tmaprobe::trace {

/// What a stop at a trap in translated code means.
struct Trap {
    enum class Kind {
        untranslated,    ///< a branch whose target is not translated, or was not when the code was written
        unknown_target,  ///< the same, of a branch through a register or memory; the target is in slot jump_target
        in_place,        ///< the instruction at the target has to be executed where it stands
        stale,           ///< the code of the block has been changed since it was translated
        enough_steps,    ///< as many steps were executed as are allowed
        awaited,         ///< the code that somebody waits for
    };
    Kind kind = Kind::untranslated;
    std::uint64_t target = 0;
    std::uint64_t patch = 0;  ///< becomes a jump to the target's code: the trap, or a stale block's beginning; 0: none
};

/// A place in translated code where the program's state is what it would be in its own code, but for some registers
/// whose own values lie in their slots.
struct Boundary {
    enum class Kind : std::uint8_t {
        instruction,   ///< about to execute instruction `index` of the block
        head,          ///< at the block's beginning; a fault here means that the buffer has no room for the block
        check,         ///< at the block's beginning; a fault here means that the program's code is gone
        enough_steps,  ///< before instruction `index`, at the trap of that name: the block is not counted yet
    };
    std::uint64_t address = 0;
    std::uint32_t block = 0;
    std::uint16_t index = 0;
    std::uint16_t displaced = 0;  ///< bit n: register n
    Kind kind = Kind::instruction;
};

/// Where in the traced process the things lie that translated code refers to.
struct TranslationLayout {
    std::uint64_t slots = 0, table = 0, counters = 0, sha_routine = 0;
    std::uint64_t second_look = 0;     ///< where an address is looked for that is not at its first place in the table
    std::uint64_t unknown_target = 0;  ///< at which the thread stops when it is not at its second place either
};

/// A block of the program's code, to be written.
struct BlockSource {
    std::uint32_t number = 0;
    std::span<const StaticInstruction> instructions;
    const BlockPlan* plan = nullptr;
    std::uint64_t next = 0;          ///< the address after it
    bool stops_before_next = false;  ///< that has to be executed where it stands
    bool checked = false;            ///< compares itself with the program's code each time
    bool counted = false;            ///< has a counter, and writes nothing else to the trace
};

struct WrittenBlock {
    std::vector<std::uint8_t> code;
    std::vector<Boundary> boundaries;                   ///< by address
    std::vector<std::pair<std::uint64_t, Trap>> traps;  ///< by the address at which the thread stops
    std::uint16_t counted_at = 0;                       ///< before which instruction its counter goes up
};

/// Whether an instruction does the same in any place, so that it can be part of a block.
bool can_be_translated(const StaticInstruction& instruction);

/// Writes the translation of a block, to stand at `address`. `in_software` tells which SHA instructions a routine
/// executes; `code_of` the translation of an address, 0 if there is none yet.
WrittenBlock write_block(const BlockSource& source, std::uint64_t address, const TranslationLayout& layout,
                         const std::function<bool(const StaticInstruction&)>& in_software,
                         const std::function<std::uint64_t(std::uint64_t)>& code_of);

}  // namespace tmaprobe::trace
