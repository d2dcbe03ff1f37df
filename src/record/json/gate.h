// How it stands in JSON what a command costs, and how that compares with a baseline.
#pragma once

#include "base/json/fields.h"
#include "record/gate.h"

namespace tmaprobe::json {

template <>
struct Description<record::Estimated> {
    using T = record::Estimated;
    static constexpr std::string_view name = "estimated", meaning = "A value with its 95% interval";
    static constexpr auto fields =
        std::make_tuple(field("value", &T::value, "Best estimate"), field("low", &T::low, "Lower end of the interval"),
                        field("high", &T::high, "Upper end of the interval"));
};

template <>
struct Description<record::CodeCost> {
    using T = record::CodeCost;
    static constexpr std::string_view name = "code_cost", meaning = "What a function or a line costs in a run";
    static constexpr auto fields = std::make_tuple(
        field("module", &T::module, "File that it is in, without folders; empty: made while the program ran"),
        field("function", &T::function, "Its name; empty: not known"),
        field("file", &T::file, "Of the source, from the folder that it was run in; empty: not known"),
        field("line", &T::line, "In that file; 0: not known"), field("cycles", &T::cycles, "Modelled"),
        field("instructions", &T::instructions, "Executed, counted"));
};

template <>
struct Description<record::RegionInRun> {
    using T = record::RegionInRun;
    static constexpr std::string_view name = "region_in_run",
                                      meaning = "What a region costs in a run, with what it calls and regions inside";
    static constexpr auto fields =
        std::make_tuple(field("name", &T::name, "Its name"), field("cycles", &T::cycles, "Modelled"),
                        field("instructions", &T::instructions, "Executed"));
};

template <>
struct Description<record::LoadedModule> {
    using T = record::LoadedModule;
    static constexpr std::string_view name = "loaded_module", meaning = "A program file or library that was executed";
    static constexpr auto fields =
        std::make_tuple(field("name", &T::name, "Without folders"),
                        field("hash", &T::hash, "Of its content; empty: it could not be read"));
};

template <>
struct Description<record::ProgramCost> {
    using T = record::ProgramCost;
    static constexpr std::string_view name = "program_cost", meaning = "What a command costs on the modelled CPU";
    static constexpr auto fields =
        std::make_tuple(field("cycles", &T::cycles, "Modelled cycles of the whole run: mean of the layouts"),
                        field("layouts", &T::layouts, "Cycles with each layout of memory"),
                        field("instructions", &T::instructions, "Executed in user mode, counted"),
                        field("instructions_again", &T::instructions_again, "The same of a second run"),
                        field("simulated", &T::simulated, "Instructions of these that were simulated, in each layout"),
                        field("windows", &T::windows, "That these lie in"),
                        field("clock_reads", &T::clock_reads, "How often it asked for the time"),
                        field("functions", &T::functions, "The most cycles first"),
                        optional("lines", &T::lines, "The most cycles first"),
                        optional("regions", &T::regions, "In the order in which they were first begun"),
                        field("modules", &T::modules, "That instructions were executed of, the program first"),
                        optional("measured_ns", &T::measured_ns, "Runs by the clock: a second opinion"));
};

template <>
struct Description<record::CostMove> {
    using T = record::CostMove;
    static constexpr std::string_view name = "cost_move", meaning = "Code whose cost is another than in the baseline";
    static constexpr auto fields =
        std::make_tuple(field("code", &T::code, "As it is now; what is gone: as it was"),
                        field("before", &T::before, "Cycles"), field("after", &T::after, "Cycles"),
                        field("share", &T::share, "Change of its cycles, as a share of all cycles before"));
};

template <>
struct Description<record::RegionChange> {
    using T = record::RegionChange;
    static constexpr std::string_view name = "region_change",
                                      meaning = "How the cost of a region compares with the baseline's";
    static constexpr auto fields = std::make_tuple(
        field("name", &T::name, "Its name"),
        field("verdict", &T::verdict, "As that of the whole; not_judged: the interval is too wide to tell"),
        field("before", &T::before, "Cycles"), field("after", &T::after, "Cycles"),
        field("change", &T::change, "0.02 is slower by 2%"));
};

template <>
struct Description<record::GateResult> {
    using T = record::GateResult;
    static constexpr std::string_view name = "gate_result", meaning = "How a cost compares with that of a baseline";
    static constexpr auto fields = std::make_tuple(
        field("verdict", &T::verdict,
              "slower: the change, or that of a region, is more than is allowed, and the intervals of both costs lie "
              "apart"),
        optional("reason", &T::reason, "Why it is not judged"),
        field("fail_above", &T::fail_above, "Change that is allowed"),
        optional("change", &T::change, "Of the cycles: 0.02 is slower by 2%"),
        optional("instructions", &T::instructions, "Change of the number of executed instructions"),
        optional("measured", &T::measured, "Change of the time by the clock, medians; it decides nothing"),
        optional("layouts", &T::layouts, "Change of the cycles with each layout"),
        optional("functions", &T::functions, "That moved, the most first"),
        optional("lines", &T::lines, "That moved, the most first"),
        optional("appeared", &T::appeared, "Functions that the baseline lacks"),
        optional("vanished", &T::vanished, "Functions that only the baseline has"),
        optional("regions", &T::regions, "That both have"),
        optional("regions_appeared", &T::regions_appeared, "Regions that the baseline lacks"),
        optional("regions_vanished", &T::regions_vanished, "Regions that only the baseline has"),
        optional("notes", &T::notes, "What a reader must know beside"),
        field("baseline_cycles", &T::baseline_cycles, "Of the baseline"));
};

template <>
struct Description<record::CostPoint> {
    using T = record::CostPoint;
    static constexpr std::string_view name = "cost_point", meaning = "A cost that the baseline had before";
    static constexpr auto fields = std::make_tuple(
        field("started", &T::started, "ISO 8601, UTC"), optional("label", &T::label, "What --label called it"),
        field("cycles", &T::cycles, "Modelled"), field("tool", &T::tool, "Version of tmaprobe that modelled them"));
};

template <>
struct Description<record::Gate> {
    using T = record::Gate;
    static constexpr std::string_view name = "gate",
                                      meaning = "A repeatable cost of a command, and how it compares with a baseline";
    static constexpr auto fields = std::make_tuple(
        field("command", &T::command, "Its words"),
        field("architecture", &T::architecture, "Whose instructions it is of"),
        optional("model", &T::model,
                 "What costs depend on besides the program: the revision of the model, LLVM's version, a hash of the "
                 "CPU's data"),
        field("layout_count", &T::layouts, "Layouts of memory that were simulated").at_least(1),
        field("seed", &T::seed, "That layouts and windows follow from"),
        optional("label", &T::label, "What --label called it"),
        optional("marks", &T::marks, "Whether the program's marks of regions were listened to"),
        optional("region_functions", &T::region_functions, "Functions that are regions, as --region named them"),
        field("cost", &T::cost, "What it costs"), optional("result", &T::result, "How that compares with the baseline"),
        optional("history", &T::history, "What the baseline was before, the oldest first"));
};

}  // namespace tmaprobe::json
