// How what single sources say of a run stands in JSON.
#pragma once

#include "base/json/fields.h"
#include "record/findings.h"
#include "record/json/sampling.h"

namespace tmaprobe::json {

template <>
struct Description<record::CountingOverhead> {
    using T = record::CountingOverhead;
    static constexpr std::string_view name = "counting_overhead",
                                      meaning = "What starting and stopping the counters costs";
    static constexpr auto fields =
        std::make_tuple(field("method", &T::method, "rdpmc, read or ioctl"),
                        field("pair_ns", &T::pair_ns, "Nanoseconds of an empty pair"),
                        optional("counts", &T::counts, "Median counts of an empty pair, by event"),
                        optional("subtracted", &T::subtracted, "What values (never raw) were lowered by, by event"));
};

template <>
struct Description<record::RetireLatency> {
    using T = record::RetireLatency;
    static constexpr std::string_view name = "retire_latency",
                                      meaning =
                                          "The latency at retirement of one event (EVENT:R): cycles from the "
                                          "retirement of the instruction before to that of the event's";
    static constexpr auto fields = std::make_tuple(
        field("event", &T::event, "As the formulas spell it"), field("pmu", &T::pmu, "PMU that was sampled"),
        field("samples", &T::samples, "Samples that the mean is of"),
        field("lost", &T::lost, "Samples for which the kernel had no room"),
        optional("mean", &T::mean, "Cycles of the core; each sample weighs as many events as it stands for"),
        optional("low", &T::low, "The true mean lies above with 97.5% confidence"),
        optional("high", &T::high, "The true mean lies below with 97.5% confidence"),
        optional("missing", &T::missing,
                 "Why the published mean was taken instead: not_precise, no_permission, no_room, with_intervals, "
                 "no_samples, too_few_samples, always_zero; absent: it was sampled"));
};

template <>
struct Description<record::PerfDetail> {
    using T = record::PerfDetail;
    static constexpr std::string_view name = "perf_detail",
                                      meaning = "What the counters say of a run beside its counts";
    static constexpr auto fields =
        std::make_tuple(optional("overhead", &T::overhead, "What starting and stopping costs"),
                        optional("retire_latencies", &T::retire_latencies,
                                 "Latencies at retirement that formulas ask for (EVENT:R), sampled or not"),
                        optional("residency", &T::residency, "On a hybrid: share of the time on each PMU's cores"),
                        optional("interrupted", &T::interrupted, "A signal ended it before its time"));
};

template <>
struct Description<record::ModelWindow> {
    using T = record::ModelWindow;
    static constexpr std::string_view name = "model_window", meaning = "One window of instructions that was simulated";
    static constexpr auto fields = std::make_tuple(
        added("cycles", &T::cycles, "Cycles of the modelled core"),
        added("instructions", &T::instructions, "Instructions"),
        added("native_ns", &T::native_ns, "Nanoseconds that the program ran natively before the window"));
};

template <>
struct Description<record::ModelVariation> {
    using T = record::ModelVariation;
    static constexpr std::string_view name = "model_variation",
                                      meaning = "The same with one thing of the model changed, for bounds";
    static constexpr auto fields = std::make_tuple(added("what", &T::what, "What was changed"),
                                                   added("cycles", &T::cycles, "Cycles of the modelled core"),
                                                   added("instructions", &T::instructions, "Instructions"));
};

template <>
struct Description<record::ClockCheck> {
    using T = record::ClockCheck;
    static constexpr std::string_view name = "clock_check",
                                      meaning =
                                          "The model of this machine against its clock: all instructions of a "
                                          "command, against a run of it by itself, or an operation of a kernel";
    static constexpr auto fields = std::make_tuple(
        field("verdict", &T::verdict,
              "agrees; doubtful: beyond the limit of events/clock-check.json; not_judged: too few windows, or timed "
              "beside others"),
        field("windows", &T::windows, "Simulated windows, on which the modelled time stands"),
        optional("instructions", &T::instructions, "Instructions that were executed; of a kernel, of an operation"),
        optional("clock_hz", &T::clock_hz, "Clock of the core, measured, in Hz"),
        optional("ratio", &T::ratio, "Modelled over measured time"),
        optional("measured_ns", &T::measured_ns,
                 "Processor time of the command in its own code; of a kernel, time of an operation"),
        optional("modelled_ns", &T::modelled_ns, "Of all those instructions, at that clock"));
};

template <>
struct Description<record::ModelDetail> {
    using T = record::ModelDetail;
    static constexpr std::string_view name = "model_detail", meaning = "What the model ran on";
    static constexpr auto fields = std::make_tuple(
        added("core_model", &T::core_model, "LLVM's name of the core whose scheduling data was used"),
        added("frequency_hz", &T::frequency_hz, "Clock of the modelled core, in Hz"),
        added("windows", &T::windows, "Windows of instructions that were simulated"),
        added("instructions", &T::instructions, "Instructions that were traced"),
        added("warm_up_instructions", &T::warm_up_instructions, "Of these, before what counts, to warm caches"),
        added("simulated_instructions", &T::simulated_instructions, "Instructions that went through the core"),
        added("cycles", &T::cycles, "Cycles of the modelled core"),
        added("counted_instructions", &T::counted_instructions, "Instructions that the counts are of"),
        added("stepped_in_software", &T::stepped_in_software,
              "Instructions that this CPU lacks, carried out by the tracer"),
        added("undecodable", &T::undecodable, "Instructions that LLVM does not know"),
        added("unmodelled", &T::unmodelled, "Instructions without scheduling data"),
        added("further_tasks", &T::further_tasks, "Threads and processes beside the one that was traced"),
        added("traced_by", &T::traced_by, "translation or single steps"),
        added("tracing_ns", &T::tracing_ns, "Nanoseconds that tracing took"),
        added("simulating_ns", &T::simulating_ns, "Nanoseconds that simulation took"),
        added("coverage", &T::coverage,
              "Share of the program's time that was traced: its time on the target over the time that ran untraced"),
        added("facts", &T::facts, "What the simulation counted, by name; events are made of these"),
        optional("ended_early", &T::ended_early, "Windows that ended before their time: how many, by reason"),
        optional("each_window", &T::each_window, "Windows by themselves"),
        optional("variations", &T::variations, "The same with one thing of the model changed"),
        optional("not_modelled", &T::not_modelled, "Events that the model cannot give: why"),
        added(
            "splits_large_pages", &T::splits_large_pages,
            "Entries of the TLBs were taken to hold 4 KiB of a large page, as the host of this virtual machine has it"),
        optional("assumed_pages", &T::assumed_pages, "--assume-pages: page size that the model took for all memory"),
        optional("clock_check", &T::clock_check, "The model against this machine's clock"),
        optional("sampling", &T::sampling, "Of a command or process that was sampled"),
        optional("measured_ns", &T::measured_ns, "How long the command took by the clock, in nanoseconds"),
        optional("interrupted", &T::interrupted, "A signal ended it before its time"));
};

}  // namespace tmaprobe::json
