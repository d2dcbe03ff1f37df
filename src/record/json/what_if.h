// How it stands in JSON what changes would win.
#pragma once

#include "base/json/fields.h"
#include "record/what_if.h"

namespace tmaprobe::json {

template <>
struct Description<record::SpeedUp> {
    using T = record::SpeedUp;
    static constexpr std::string_view name = "speed_up", meaning = "How many times as fast: 1 is as it is, less slower";
    static constexpr auto fields =
        std::make_tuple(field("value", &T::value, "By the model").at_least(0),
                        field("low", &T::low, "Least, over the windows and what the model cannot know").at_least(0),
                        field("high", &T::high, "Greatest").at_least(0));
};

template <>
struct Description<record::WhatIfAnswer> {
    using T = record::WhatIfAnswer;
    static constexpr std::string_view name = "what_if_answer", meaning = "What some changes together would win";
    static constexpr auto fields =
        std::make_tuple(field("changes", &T::changes, "Of the machine, all at once"),
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
        optional("unavailable", &T::unavailable, "Why there is no speed"));
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
        field("trace_bytes", &T::trace_bytes, "Size of the trace"),
        field("trace_instructions", &T::trace_instructions, "Executed instructions in it, those for warming included"),
        field("slots", &T::slots, "Shares of all slots by cause, as it is"),
        field("answers", &T::answers, "The most worth first"),
        optional("shares", &T::shares, "How the main causes share what removing them all would win"),
        optional("targets", &T::targets, "The same trace on other CPUs, the fastest first"));
};

}  // namespace tmaprobe::json
