// How what was sampled of processes stands in JSON.
#pragma once

#include "base/json/fields.h"
#include "record/sampling.h"

namespace tmaprobe::json {

template <>
struct Description<record::SampledWindow> {
    static constexpr std::string_view name = "sampled_window",
                                      meaning = "one stretch of instructions of a copy, simulated";
    static constexpr auto fields =
        std::make_tuple(field("task", &record::SampledWindow::program, "name of the program that ran"),
                        field("pid", &record::SampledWindow::pid, "its process"),
                        field("instructions", &record::SampledWindow::instructions,
                              "simulated instructions of the window, as they ran"),
                        field("cycles", &record::SampledWindow::cycles, "cycles that they take on the target"),
                        field("native_ns", &record::SampledWindow::stands_for_ns,
                              "ns of processor time, of all sampled threads, that the window stands for: its weight"));
};

template <>
struct Description<record::TaskShare> {
    static constexpr std::string_view name = "task_share", meaning = "how much of the result one process is";
    static constexpr auto fields =
        std::make_tuple(field("program", &record::TaskShare::program, "name of the program"),
                        field("pid", &record::TaskShare::pid, "its process"),
                        field("share", &record::TaskShare::share, "fraction of the weight of all windows"));
};

template <>
struct Description<record::SamplingPauses> {
    static constexpr std::string_view name = "sampling_pauses", meaning = "what sampling took from the processes";
    static constexpr auto fields = std::make_tuple(
        field("copies", &record::SamplingPauses::copies, "copies that were made"),
        field("longest_ns", &record::SamplingPauses::longest_ns,
              "ns for which a thread was stopped for one of them, at most"),
        field("total_ns", &record::SamplingPauses::total_ns, "ns for which threads were stopped, altogether"),
        field("copied_pages", &record::SamplingPauses::copied_pages,
              "page faults of the sampled processes while copies of them were there: at most so many were because of "
              "the copies"));
};

template <>
struct Description<record::Sampling> {
    static constexpr std::string_view name = "sampling",
                                      meaning = "what was sampled of a command or process, and what that cost it";
    static constexpr auto fields = std::make_tuple(
        field("windows", &record::Sampling::windows, "in the order in which they were taken"),
        field("ended_early", &record::Sampling::ended_early, "copies whose window ended before its length, by reason"),
        field("missed", &record::Sampling::missed, "moments at which no copy was made, by reason"),
        field("by_task", &record::Sampling::by_task, "how the windows' weight is shared out, largest first"),
        field("pauses", &record::Sampling::pauses, "what sampling took from the processes"),
        field("processor_ns", &record::Sampling::processor_ns,
              "ns of processor time that the sampled processes were seen to use"),
        field("system_ns", &record::Sampling::system_ns,
              "ns of it in the kernel, by its own clock ticks: no part of the windows"),
        field("looks", &record::Sampling::looks,
              "how often it was looked where the sampled processes were in their own code: by this the windows are "
              "weighed; 0: by the time between them"),
        field("looks_met", &record::Sampling::looks_met, "looks of these that are at code of some window"),
        optional("looks_by", &record::Sampling::looks_by,
                 "cycles: looks are so many of these apart, which the CPU counted; task-clock: by processor time, with "
                 "the kernel's timer"));
};

}  // namespace tmaprobe::json
