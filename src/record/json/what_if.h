// How it stands in JSON what changes would win.
#pragma once

#include "base/json/fields.h"
#include "record/json/speed_up.h"
#include "record/what_if.h"

namespace tmaprobe::json {

template <>
struct Description<record::WhatIfAnswer> {
    using T = record::WhatIfAnswer;
    static constexpr std::string_view name = "what_if_answer", meaning = "What some changes together would win";
    static constexpr auto fields =
        std::make_tuple(field("changes", &T::changes, "Of the machine, all at once"),
                        optional("prefetch_distance", &T::prefetch_distance,
                                 "How many executions of the same load before it is prefetched; none: nothing is"),
                        optional("code", &T::code, "That the changes are of, as it was asked for; none: of all"),
                        field("speed_up", &T::speed_up, "Of the workload, against the machine as it is"),
                        field("slots", &T::slots, "Shares of all slots by cause, then: the bottleneck that remains"));
};

template <>
struct Description<record::CauseShare> {
    using T = record::CauseShare;
    static constexpr std::string_view name = "cause_share",
                                      meaning = "A main cause's part of the time that removing all of them would win";
    static constexpr auto fields =
        std::make_tuple(field("change", &T::change, "That removes it"),
                        field("share", &T::share,
                              "Of the time as it is: its Shapley value, the time that its removal "
                              "wins on average over all orders of removing them"));
};

template <>
struct Description<record::MappingPages> {
    using T = record::MappingPages;
    static constexpr std::string_view name = "mapping_pages",
                                      meaning = "What large pages would win for one mapping, all else as it is";
    static constexpr auto fields = std::make_tuple(
        field("kind", &T::kind, "file, heap, stack or anonymous"),
        optional("path", &T::path, "Of the file; none: of none"),
        optional("zeroed", &T::zeroed, "What of the file's data begins as zeros, in memory of no file"),
        optional("address", &T::address, "Where it lay"), field("bytes", &T::bytes, "The most that it was long"),
        field("waits", &T::waits, "Share of all slots that wait for what is in it, in small pages, as it is")
            .at_least(0),
        field("speed_up", &T::speed_up, "With pages of 2 MiB for it alone"));
};

template <>
struct Description<record::InstructionSetUse> {
    using T = record::InstructionSetUse;
    static constexpr std::string_view name = "instruction_set_use",
                                      meaning = "Instructions of an extension of the instruction set";
    static constexpr auto fields =
        std::make_tuple(field("feature", &T::feature, "As LLVM calls it"),
                        field("share", &T::share, "Of the executed instructions, in time").at_least(0));
};

template <>
struct Description<record::ChosenByCpu> {
    using T = record::ChosenByCpu;
    static constexpr std::string_view name = "chosen_by_cpu",
                                      meaning =
                                          "A file whose code was chosen by what the CPU has: on another CPU other "
                                          "code of it may run";
    static constexpr auto fields = std::make_tuple(
        field("path", &T::path, "Of the file"),
        field("by_loader", &T::by_loader, "The loader chose (ifunc); else the code asks the CPU itself (cpuid)"),
        field("share", &T::share,
              "Of the executed instructions: those in this file that not every CPU of this kind has")
            .at_least(0));
};

template <>
struct Description<record::TargetSpeed> {
    using T = record::TargetSpeed;
    static constexpr std::string_view name = "target_speed", meaning = "The same trace on another CPU";
    static constexpr auto fields = std::make_tuple(
        field("folder", &T::folder, "Its tables, as --target takes it"), field("title", &T::title, "Its name"),
        field("speed_up", &T::speed_up, "Against the CPU of the record, at the clocks that are published of both"),
        field("cycles_ratio", &T::cycles_ratio, "Its cycles over those of the CPU of the record").at_least(0),
        field("frequency_hz", &T::frequency_hz, "Its clock"),
        field("unmodelled", &T::unmodelled, "Share of the instructions that its scheduling data do not know")
            .at_least(0),
        optional("unavailable", &T::unavailable, "Why there is no speed"),
        optional("lacks", &T::lacks, "What of the trace it could not execute"));
};

template <>
struct Description<record::WhatIf> {
    using T = record::WhatIf;
    static constexpr std::string_view
        name = "what_if",
        meaning = "What changes of the machine would win: the same executed instructions, simulated again";
    static constexpr auto fields = std::make_tuple(
        field("workload", &T::workload, "That the trace is of"),
        field("taken_on", &T::taken_on, "CPU id of the machine that the trace was taken on"),
        optional("region", &T::region, "Whose speed is said, and of whose slots the shares are; none: of all"),
        field("trace_bytes", &T::trace_bytes, "Size of the trace"),
        field("trace_instructions", &T::trace_instructions, "Executed instructions in it, those for warming included"),
        field("slots", &T::slots, "Shares of all slots by cause, as it is"),
        field("answers", &T::answers, "The most worth first"),
        optional("shares", &T::shares, "How the main causes share what removing them all would win"),
        optional(
            "mappings", &T::mappings,
            "What pages of 2 MiB would win for one mapping alone, where they would win anything for all: of those that "
            "are waited for most, the most worth first"),
        optional("mappings_unknown", &T::mappings_unknown,
                 "Why mappings were not asked, though large pages would win something"),
        optional("instruction_sets", &T::instruction_sets,
                 "That the trace uses beyond what every CPU of this kind has, where targets were asked"),
        optional("chosen_by_cpu", &T::chosen_by_cpu, "Code that was chosen by what the CPU has, where targets were"),
        optional("targets", &T::targets, "The same trace on other CPUs, the fastest first"));
};

}  // namespace tmaprobe::json
