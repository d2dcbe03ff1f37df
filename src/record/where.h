#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/slot_cause.h"

namespace tmaprobe::record {

/// Slots by SlotCause; a cause without slots is left out.
using CauseSlots = std::map<std::string, double>;

/// What one place is.
enum class PlaceKind { module, function, loop, line, instruction };

/// Somewhere in the code, and the slots that are put down to it.
struct CodePlace {
    std::string module;        ///< path of the file; "[vdso]"; empty: code that was made while the program ran
    std::string function;      ///< the innermost: where inlined, its own name; empty: not known
    std::string inlined_into;  ///< the function that was called, where it is another
    std::string file;          ///< of the source; empty: not known
    std::uint64_t first_line = 0, last_line = 0;  ///< that slots were put down to; 0: not known
    std::uint64_t address = 0;  ///< of the instruction, where the loop is entered, or where the called function
                                ///< begins, as the module counts
    std::string instruction;    ///< in the assembler's words
    CauseSlots slots;
    double share = 0, low = 0, high = 0;  ///< of all slots
    // Of a loop:
    unsigned loop_depth = 0;                ///< 1: in no other; 0: it is none
    std::optional<std::uint64_t> inside{};  ///< index in the list of the loop that it is directly in
    double share_with_inner = 0;            ///< with the loops in it, where `share` is without
};

/// Which places take the slots, and why: by the model, whatever the tree is from.
struct Where {
    double slot_width = 0;  ///< slots of a cycle
    CauseSlots slots;       ///< of all instructions: those of the model's facts
    // Each list adds up to `slots`, together with what is too little to be listed. The most slots come first.
    // `loops` has, beside the loops, of each function that was called what is in none of its loops.
    std::vector<CodePlace> modules, functions, loops, lines, instructions;
    CauseSlots further_lines, further_instructions;
};

/// Of all causes.
double sum_of(const CauseSlots& slots);
double slots_of(const CauseSlots& slots, SlotCause cause);

}  // namespace tmaprobe::record

namespace tmaprobe {

template <>
struct Names<record::PlaceKind> {
    using enum record::PlaceKind;
    static constexpr std::array<std::pair<record::PlaceKind, std::string_view>, 5> values{
        {{module, "module"}, {function, "function"}, {loop, "loop"}, {line, "line"}, {instruction, "instruction"}}};
};

}  // namespace tmaprobe
