// How the places that take the slots stand in JSON.
#pragma once

#include "base/json/fields.h"
#include "record/where.h"

namespace tmaprobe::json {

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
        optional("loop_depth", &T::loop_depth, "Of a loop: in how many it is, itself among them"),
        optional("inside", &T::inside, "Of a loop in another: the other's index in the list, from 0"),
        optional("share_with_inner", &T::share_with_inner,
                 "Of a loop: share of all slots with the loops in it; share "
                 "is without")
            .at_least(0));
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
        field("slots", &T::slots, "Of all instructions, by cause"), field("modules", &T::modules, "Files"),
        field("functions", &T::functions, "Functions, inlined ones by themselves"),
        optional("loops", &T::loops,
                 "Loops, without those in them, and of each function that was called what is in none of its loops; "
                 "none: recorded before loops were found"),
        field("lines", &T::lines, "Lines of source; those whose line is not known by function"),
        field("instructions", &T::instructions, "Instructions"),
        optional("further_lines", &T::further_lines, "Of lines that are not listed"),
        optional("further_instructions", &T::further_instructions, "Of instructions that are not listed"));
};

}  // namespace tmaprobe::json
