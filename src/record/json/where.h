// How the places that take the slots stand in JSON.
#pragma once

#include "base/json/fields.h"
#include "record/json/speed_up.h"
#include "record/where.h"

namespace tmaprobe::json {

template <>
struct Description<record::InstructionCounts> {
    using T = record::InstructionCounts;
    static constexpr std::string_view name = "instruction_counts",
                                      meaning = "What one instruction met when it was executed, as the model has it";
    static constexpr auto fields = std::make_tuple(
        optional("loads", &T::loads, "Share of its executions that loaded from memory").at_least(0),
        optional("load_cycles", &T::load_cycles, "Of one load, from its issue until the data were there: the mean")
            .at_least(0),
        optional("load_misses", &T::load_misses, "Share of its loads that the first-level cache did not have")
            .at_least(0),
        optional("mispredictions", &T::mispredictions, "Share of its executions").at_least(0));
};

template <>
struct Description<record::MeasuredShare> {
    using T = record::MeasuredShare;
    static constexpr std::string_view name = "measured_share",
                                      meaning = "A share of the samples that were taken on this machine";
    static constexpr auto fields = std::make_tuple(
        field("share", &T::share, "Of the samples in the program's own code").at_least(0),
        field("low", &T::low, "Where it lies with 95% confidence (Wilson's interval): at least").at_least(0),
        field("high", &T::high, "At most").at_least(0));
};

template <>
struct Description<record::PlaceSamples> {
    using T = record::PlaceSamples;
    static constexpr std::string_view name = "place_samples",
                                      meaning = "How samples of where the program is were taken on this machine";
    static constexpr auto fields = std::make_tuple(
        field("event", &T::event, "task-clock: by processor time; cycles"),
        field("precision", &T::precision, "As perf's precise_ip; 0: an address may lie some instructions late"),
        field("every", &T::every,
              "So many of the event (of task-clock: nanoseconds) apart; the longest, where that changed")
            .at_least(0),
        field("taken", &T::taken, "Samples in the program's own code"),
        field("lost", &T::lost, "Samples that there was no room for"),
        field("not_placed", &T::not_placed, "Of those taken: at addresses of no known code"),
        field("tasks_left_out", &T::tasks_left_out, "Threads that nobody could look at"));
};

template <>
struct Description<record::CodePlace> {
    using T = record::CodePlace;
    static constexpr std::string_view name = "code_place",
                                      meaning = "Somewhere in the code, and the slots that are put down to it";
    static constexpr auto fields = std::make_tuple(
        field("module", &T::module, "Path of the file, or [vdso]; empty: code that was made while the program ran"),
        optional("function", &T::function, "The innermost; none: not known"),
        optional("inlined_into", &T::inlined_into, "The function that was called, where the other is inlined into it"),
        optional("file", &T::file, "Of the source; none: not known"),
        optional("first_line", &T::first_line, "The first that slots were put down to; none: not known"),
        optional("last_line", &T::last_line, "The last"),
        optional("address", &T::address,
                 "Of the instruction, where the loop is entered, or where the called function begins, as the module's "
                 "symbols count; none: not known"),
        optional("instruction", &T::instruction, "In the assembler's words"),
        field("slots", &T::slots, "By cause, as the model counts them"),
        field("share", &T::share, "Of all slots").at_least(0),
        field("low", &T::low, "Least share over the windows and what the model cannot know").at_least(0),
        field("high", &T::high, "Greatest").at_least(0),
        optional("measured", &T::measured, "Share of the samples, where any are here"),
        optional("counts", &T::counts, "Of an instruction that loads, or was mispredicted"),
        optional("if_it_never_waited", &T::if_it_never_waited,
                 "Of a line, where it was asked for: how much faster all would be if it took its slots and nothing "
                 "more, and nothing waited for it"),
        optional("loop_depth", &T::loop_depth, "Of a loop: in how many it is, itself among them"),
        optional("inside", &T::inside, "Of a loop in another: the other's index in the list, from 0"),
        optional("share_with_inner", &T::share_with_inner,
                 "Of a loop: share of all slots with the loops in it; share "
                 "is without")
            .at_least(0));
};

template <>
struct Description<record::AllocatingFunction> {
    using T = record::AllocatingFunction;
    static constexpr std::string_view name = "allocating_function",
                                      meaning = "A function on the way to where blocks were allocated";
    static constexpr auto fields = std::make_tuple(
        field("module", &T::module, "Path of the file, or [vdso]; empty: code that was made while the program ran"),
        optional("function", &T::function, "Its name, also where it is inlined; none: not known"),
        optional("file", &T::file, "Of the source; none: not known"),
        optional("line", &T::line, "That called the next one, or the allocator; none: not known"),
        optional("address", &T::address, "Of a function without name: where it begins; none: not known"));
};

template <>
struct Description<record::DataPlace> {
    using T = record::DataPlace;
    static constexpr std::string_view name = "data_place", meaning = "Data that the program waits for";
    static constexpr auto fields = std::make_tuple(
        field("kind", &T::kind,
              "variable: of a module, by name; file: what is mapped of one; heap, stack, anonymous: memory of no file; "
              "blocks: of the heap, or mapped, that the same calls allocated; unknown: no address is known"),
        optional("name", &T::name, "Of a variable"),
        optional("path", &T::path, "Of the file that it is of: a program, a library, what was mapped"),
        optional("file", &T::file, "Of the source that declares it; none: not known"),
        optional("line", &T::line, "Where; none: not known"),
        optional("address", &T::address,
                 "Of a variable: as the module's symbols count; of memory of no file: where it lay; none: not known"),
        optional(
            "bytes", &T::bytes,
            "Of all of it, of blocks at the window that found most; of those below 4 KiB in steps of 16; none: not "
            "known"),
        optional("blocks", &T::blocks, "How many blocks that were; none: it is no blocks"),
        optional("allocated_by", &T::allocated_by,
                 "Who allocated these blocks: from the function that called the allocator out to main, without what "
                 "lies between a function and itself"),
        field("slots", &T::slots, "By cause: only waits for memory"),
        field("share", &T::share, "Of all slots").at_least(0),
        field("low", &T::low, "Least share over the windows and what the model cannot know").at_least(0),
        field("high", &T::high, "Greatest").at_least(0),
        optional("small_page_walks", &T::small_page_walks,
                 "Share of all slots that wait for translations of what lies in pages of the smallest size: what huge "
                 "pages could save at most")
            .at_least(0),
        optional("function", &T::function, "Of the line that most of these slots are put down to"),
        optional("code_file", &T::code_file, "And its source"), optional("code_line", &T::code_line, "And its line"));
};

template <>
struct Description<record::CallPlace> {
    using T = record::CallPlace;
    static constexpr std::string_view name = "call_place",
                                      meaning =
                                          "A function that was called, or a line of one: in its caller, or in "
                                          "the function that the line is of";
    static constexpr auto fields = std::make_tuple(
        optional("caller", &T::caller, "Index in the list, from 0; none: where the known calls begin"),
        field("module", &T::module, "Path of the file, or [vdso]; empty: code that was made while the program ran"),
        optional("function", &T::function, "The innermost: inlined ones are called, too; none: not known"),
        optional("file", &T::file, "Of the source, of a line"), optional("line", &T::line, "None: it is a function"),
        optional("address", &T::address, "Of a function without name: where it begins; none: not known"),
        field("slots", &T::slots, "By cause, without those of what is listed to be in it"),
        optional("share", &T::share,
                 "Of all slots, with what is listed to be in it; none: recorded before these had bounds")
            .at_least(0),
        optional("low", &T::low, "Lower bound of that share"), optional("high", &T::high, "Upper bound"));
};

template <>
struct Description<record::LoopStep> {
    using T = record::LoopStep;
    static constexpr std::string_view name = "loop_step",
                                      meaning =
                                          "An instruction of one time around a loop. Cycles count from the one "
                                          "in which the first of them was renamed";
    static constexpr auto fields = std::make_tuple(
        field("address", &T::address, "As the module's symbols count"),
        field("instruction", &T::instruction, "In the assembler's words"),
        optional("function", &T::function, "The innermost; none: not known"),
        optional("file", &T::file, "Of the source; none: not known"),
        optional("line", &T::line, "Of it; none: not known"),
        field("renamed", &T::renamed, "Cycle in which it gets its slots"),
        field("issued", &T::issued, "Cycle in which it goes to its ports"),
        field("done", &T::done, "Cycle in which its result is there"),
        field("retired", &T::retired, "Cycle in which it retires"),
        optional("ports", &T::ports, "That its operations may go to"),
        optional("waits_for", &T::waits_for,
                 "Index of the step whose result it waited for last; in the time around before it if that is not "
                 "before it"));
};

template <>
struct Description<record::ChainLink> {
    using T = record::ChainLink;
    static constexpr std::string_view name = "chain_link", meaning = "A step of the chain that holds a loop up";
    static constexpr auto fields =
        std::make_tuple(field("step", &T::step, "Index, from 0"),
                        field("cycles", &T::cycles, "From its issue to that of the next link"));
};

template <>
struct Description<record::LoopTimeline> {
    using T = record::LoopTimeline;
    static constexpr std::string_view name = "loop_timeline",
                                      meaning = "One time around a loop, cycle by cycle, on the modelled core";
    static constexpr auto fields = std::make_tuple(
        field("module", &T::module, "Path of the file, or [vdso]; empty: code that was made while the program ran"),
        optional("function", &T::function, "Of the instruction that takes most; none: not known"),
        optional("file", &T::file, "And its source; none: not known"),
        optional("first_line", &T::first_line, "The first in that file; none: not known"),
        optional("last_line", &T::last_line, "The last"),
        field("share", &T::share, "Of all slots: that its instructions take, wherever else they were executed")
            .at_least(0),
        field("cycles", &T::cycles, "Of a time around: the median of those that went the same way").at_least(0),
        field("times_around", &T::times_around, "That went this way, in one window"),
        field("steps", &T::steps, "In the order in which they were executed"),
        optional("chain", &T::chain, "Each link waits for the one before it"),
        optional("chain_times_around", &T::chain_times_around,
                 "That the chain leads through until it comes back to its begin; none: it does not"),
        optional("port_cycles", &T::port_cycles,
                 "Cycles that each port is busy in a time around, if work is spread as evenly as it can be"));
};

template <>
struct Description<record::Where> {
    using T = record::Where;
    static constexpr std::string_view
        name = "where",
        meaning =
            "Which places in the code take the slots, and why: by the model, whatever the tree is from. Each "
            "list adds up to slots, together with what is too little to be listed; the most slots come first";
    static constexpr auto fields = std::make_tuple(
        field("slot_width", &T::slot_width, "Slots of a cycle"),
        optional("region", &T::region, "All slots are those of this region, with what it calls"),
        field("slots", &T::slots, "Of all instructions, by cause"), field("modules", &T::modules, "Files"),
        field("functions", &T::functions, "Functions, inlined ones by themselves"),
        optional("loops", &T::loops,
                 "Loops, without those in them, and of each function that was called what is in none of its loops; "
                 "none: recorded before loops were found"),
        field("lines", &T::lines, "Lines of source; those whose line is not known by function"),
        field("instructions", &T::instructions, "Instructions"),
        optional("further_lines", &T::further_lines, "Of lines that are not listed"),
        optional("further_instructions", &T::further_instructions, "Of instructions that are not listed"),
        optional("samples", &T::samples,
                 "What the places' measured shares are of; a place that has samples and no slots is listed, too; none: "
                 "no samples were taken"),
        optional("calls", &T::calls,
                 "By the calls that led there: adds up to slots, callers before what they call; none: recorded before "
                 "calls were followed"),
        optional("data_slots", &T::data_slots, "Waits for memory of all instructions, by cause"),
        optional("data", &T::data,
                 "What these wait for; adds up to data_slots, the most first; none: no wait for memory, or recorded "
                 "before data were told apart"),
        optional(
            "blocks_told_apart", &T::blocks_told_apart,
            "The program's allocations were followed from its first on, so that `data` has blocks by who allocated "
            "them (--repeatable)"),
        optional("timelines", &T::timelines, "Of the loops that take most"));
};

}  // namespace tmaprobe::json
