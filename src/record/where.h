#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/slot_cause.h"
#include "record/speed_up.h"

namespace tmaprobe::record {

/// Slots by SlotCause; a cause without slots is left out.
using CauseSlots = std::map<std::string, double>;

/// What one place is.
enum class PlaceKind { module, function, loop, line, instruction, data, path };

/// What one instruction met when it was executed, as the model has it.
struct InstructionCounts {
    double loads = 0;           ///< share of its executions that loaded from memory
    double load_cycles = 0;     ///< of one load, from its issue until the data were there: the mean
    double load_misses = 0;     ///< share of its loads that the first-level cache did not have
    double mispredictions = 0;  ///< share of its executions after which other code was fetched than came
};

/// A share of the samples that were taken on this machine, and where it lies with 95% confidence (Wilson's interval).
struct MeasuredShare {
    double share = 0, low = 0, high = 0;
};

/// How samples of where a program is were taken on this machine.
struct PlaceSamples {
    std::string event;        ///< "task-clock": by processor time; "cycles"
    unsigned precision = 0;   ///< as perf's precise_ip; 0: an address may lie some instructions late
    double every = 0;         ///< so many of the event (of time: nanoseconds) apart; the longest, where that changed
    std::uint64_t taken = 0;  ///< samples in the program's own code
    std::uint64_t lost = 0;   ///< that there was no room for
    std::uint64_t not_placed = 0;      ///< of those taken: at addresses that no known mapping has
    std::uint64_t tasks_left_out = 0;  ///< threads that nobody could look at
};

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
    double share = 0, low = 0, high = 0;          ///< of all slots
    std::optional<MeasuredShare> measured{};      ///< of the samples, where any are here
    std::optional<InstructionCounts> counts{};    ///< of an instruction that loads, or was mispredicted
    std::optional<SpeedUp> if_it_never_waited{};  ///< of a line, where it was asked for: what would be won
    // Of a loop:
    unsigned loop_depth = 0;                ///< 1: in no other; 0: it is none
    std::optional<std::uint64_t> inside{};  ///< index in the list of the loop that it is directly in
    double share_with_inner = 0;            ///< with the loops in it, where `share` is without
};

/// What a piece of memory is.
enum class DataKind { variable, file, heap, stack, anonymous, blocks, unknown };

/// A function on the way to where blocks were allocated, and the line that called on.
struct AllocatingFunction {
    std::string module;         ///< as CodePlace
    std::string function;       ///< also one that is inlined; empty: not known
    std::string file;           ///< of the source; empty: not known
    std::uint64_t line = 0;     ///< 0: not known
    std::uint64_t address = 0;  ///< of a function without name: where it begins; 0: not known

    auto operator<=>(const AllocatingFunction&) const = default;
};

/// Data that the program waits for.
struct DataPlace {
    DataKind kind = DataKind::unknown;
    std::string name;           ///< of a variable
    std::string path;           ///< of the file that it is of: the program, a library, what was mapped; empty: of none
    std::string file;           ///< of the source, where a variable is declared; empty: not known
    std::uint64_t line = 0;     ///< 0: not known
    std::uint64_t address = 0;  ///< of a variable: as the module's symbols count; of memory of no file: where it lay
    std::uint64_t bytes = 0;    ///< of all of it; 0: not known
    // Of blocks that were allocated by the same calls:
    std::uint64_t blocks = 0;                        ///< how many, where they had most bytes at a time
    std::vector<AllocatingFunction> allocated_by{};  ///< from the one that called the allocator outwards
    CauseSlots slots;                                ///< only waits for memory
    double share = 0, low = 0, high = 0;             ///< of all slots
    double small_page_walks = 0;      ///< share of all slots: translations of what is in pages of the smallest size
    std::string function, code_file;  ///< where most of these slots are put down to; empty: not known
    std::uint64_t code_line = 0;      ///< 0: not known
};

/// A function that was called, or a line of one: in its caller, or in the function that the line is of.
struct CallPlace {
    std::optional<std::uint64_t> caller{};  ///< index in the list; none: where the known calls begin
    std::string module;                     ///< as CodePlace
    std::string function;                   ///< the innermost: inlined ones are called, too; empty: not known
    std::string file;                       ///< of a line
    std::uint64_t line = 0;                 ///< 0: it is a function
    std::uint64_t address = 0;              ///< of a function without name: where it begins; 0: not known
    CauseSlots slots;                       ///< without those of what is listed to be in it
    double share = 0, low = 0, high = 0;    ///< of all slots, with what is listed to be in it
};

/// An instruction of one time around a loop. Cycles count from the one in which the first of them was renamed.
struct LoopStep {
    std::uint64_t address = 0;
    std::string instruction;     ///< in the assembler's words
    std::string function, file;  ///< the innermost function; empty: not known
    std::uint64_t line = 0;      ///< 0: not known
    std::uint64_t renamed = 0, issued = 0, done = 0, retired = 0;
    std::vector<std::string> ports;            ///< that its operations may go to
    std::optional<std::uint64_t> waits_for{};  ///< index of the step whose result it waited for last; in the time
                                               ///< around before it if that is not before it
};

/// A step of the chain that holds a loop up.
struct ChainLink {
    std::uint64_t step = 0;    ///< index
    std::uint64_t cycles = 0;  ///< from its issue to that of the next link
};

/// One time around a loop, cycle by cycle, on the modelled core.
struct LoopTimeline {
    std::string module, function, file;           ///< of the instruction that takes most slots
    std::uint64_t first_line = 0, last_line = 0;  ///< in that file
    double share = 0;                ///< of all slots: of its instructions, wherever else they were executed
    double cycles = 0;               ///< of a time around: the median of all that went the same way
    std::uint64_t times_around = 0;  ///< that went this way, in one window
    std::vector<LoopStep> steps;
    std::vector<ChainLink> chain;               ///< each link waits for the one before it
    std::uint64_t chain_times_around = 0;       ///< that the chain leads through; 0: it does not come back to its begin
    std::map<std::string, double> port_cycles;  ///< of a time around, spread as evenly as can be
};

/// Which places take the slots, and why: by the model, whatever the tree is from.
struct Where {
    double slot_width = 0;  ///< slots of a cycle
    std::string region;     ///< all slots are those of this region, with what it calls; empty: of everything
    CauseSlots slots;       ///< of all instructions: those of the model's facts
    // Each list adds up to `slots`, together with what is too little to be listed. The most slots come first.
    // `loops` has, beside the loops, of each function that was called what is in none of its loops.
    std::vector<CodePlace> modules, functions, loops, lines, instructions;
    CauseSlots further_lines, further_instructions;
    /// What CodePlace::measured is of. A place that has samples and no slots is listed, too.
    std::optional<PlaceSamples> samples{};
    /// Add up to `slots`. Callers come before what they call, and what has most slots first.
    std::vector<CallPlace> calls;
    CauseSlots data_slots;                ///< of all waits for memory
    std::vector<DataPlace> data;          ///< add up to `data_slots`, the most first
    bool blocks_told_apart = false;       ///< allocations were followed from the program's first on
    std::vector<LoopTimeline> timelines;  ///< of the loops that take most
};

/// Of all causes.
double sum_of(const CauseSlots& slots);
double slots_of(const CauseSlots& slots, SlotCause cause);

}  // namespace tmaprobe::record

namespace tmaprobe {

template <>
struct Names<record::DataKind> {
    using enum record::DataKind;
    static constexpr std::array<std::pair<record::DataKind, std::string_view>, 7> values{{{variable, "variable"},
                                                                                          {file, "file"},
                                                                                          {heap, "heap"},
                                                                                          {stack, "stack"},
                                                                                          {anonymous, "anonymous"},
                                                                                          {blocks, "blocks"},
                                                                                          {unknown, "unknown"}}};
};

template <>
struct Names<record::PlaceKind> {
    using enum record::PlaceKind;
    static constexpr std::array<std::pair<record::PlaceKind, std::string_view>, 7> values{{{module, "module"},
                                                                                           {function, "function"},
                                                                                           {loop, "loop"},
                                                                                           {line, "line"},
                                                                                           {instruction, "instruction"},
                                                                                           {data, "data"},
                                                                                           {path, "path"}}};
};

}  // namespace tmaprobe
