// How times stand in JSON.
#pragma once

#include <cmath>

#include "base/json/fields.h"
#include "base/json/node.h"
#include "record/time.h"

namespace tmaprobe::record {

enum class TimeStatus { measured, unavailable };

}  // namespace tmaprobe::record

template <>
struct tmaprobe::Names<tmaprobe::record::TimeStatus> {
    using enum record::TimeStatus;
    static constexpr std::array<std::pair<record::TimeStatus, std::string_view>, 2> values{
        {{measured, "measured"}, {unavailable, "unavailable"}}};
};

namespace tmaprobe::json {

template <>
struct Description<Summary> {
    static constexpr std::string_view name = "summary",
                                      meaning =
                                          "Order statistics over the repetitions; null when the quantity is not known";
    static constexpr auto fields = std::make_tuple(
        field("count", &Summary::count, "Values").at_least(1), field("median", &Summary::median, "Median"),
        field("min", &Summary::min, "Least value"), field("max", &Summary::max, "Greatest value"),
        field("mad", &Summary::mad, "Median absolute deviation from the median, not scaled to a sigma"),
        field("low", &Summary::low, "Confidence interval of the median: two of the values, by exact binomial ranks"),
        field("high", &Summary::high, "Its upper end"),
        added("confidence", &Summary::confidence,
              "With which low..high holds the true median; below 0.95 for fewer than six values, null for one")
            .at_least(0)
            .or_null());
    static bool is_empty(const Summary& summary) { return summary.count == 0; }
};

template <>
struct Description<record::DisturbedBy> {
    using T = record::DisturbedBy;
    static constexpr std::string_view name = "disturbed_by", meaning = "All repetitions with the same cause";
    static constexpr auto fields = std::make_tuple(
        field("cause", &T::cause,
              "What disturbed them. Its size is a share: of the repetition's time that was lost (waited_for_cpu, "
              "partner_waited: "
              "another thread of the kernel, stolen by the hypervisor, interrupted), of the core's issue slots or of "
              "its reorder "
              "buffer that another hyperthread took, or the relative change of the core clock, which may be negative"),
        field("repetitions", &T::repetitions, "How many").at_least(1),
        field("median", &T::median, "Of the sizes: see cause"), field("most", &T::most, "The size furthest from 0"));
};

template <>
struct Description<record::Tracing> {
    using T = record::Tracing;
    static constexpr std::string_view name = "tracing",
                                      meaning = "Of a command that ran once and under the model's tracer";
    static constexpr auto fields = std::make_tuple(
        field("elapsed_ns", &T::elapsed_ns, "Nanoseconds from the command's start to its end, by the clock"),
        field("added_ns", &T::added_ns,
              "Nanoseconds of these that the tracer added; ns_per_op is elapsed_ns less this"),
        field("added_low_ns", &T::added_low_ns,
              "Least that the tracer can have added; ns_per_op.high is elapsed_ns less this"),
        field("added_high_ns", &T::added_high_ns,
              "Most that the tracer can have added; ns_per_op.low is elapsed_ns less this"));
};

template <>
struct Description<record::ProcessorTime> {
    using T = record::ProcessorTime;
    static constexpr std::string_view name = "processor_time",
                                      meaning = "Processor time of a command with the children that it waited for";
    static constexpr auto fields =
        std::make_tuple(field("user_ns", &T::user_ns, "Nanoseconds in user mode, median over the runs"),
                        field("system_ns", &T::system_ns, "Nanoseconds in the kernel, median over the runs"));
};

template <>
struct Description<record::Time> {
    using T = record::Time;
    using Status = record::TimeStatus;
    static constexpr std::string_view name = "time", meaning = "How long one operation of the run takes";
    static constexpr auto fields = std::make_tuple(
        property(
            "status", [](const T& time) { return time.known ? Status::measured : Status::unavailable; },
            [](T& time, Status status) { time.known = status == Status::measured; }, "Whether there is a time"),
        field("reason", &T::reason, "Why there is none"),
        property(
            "repetitions", [](const T& time) { return time.ns_per_op.count; }, [](T&, std::size_t) {},
            "Those that the statistics are over"),
        field("clean", &T::clean, "Repetitions that nothing disturbed").at_least(0),
        field("disturbed", &T::disturbed, "Repetitions that something disturbed: see causes").at_least(0),
        added("causes", &T::causes, "What disturbed them, the most frequent cause first"),
        added("clock", &T::clock,
              "What the statistics are over: the wall clock, or, where fewer than three repetitions were clean and one "
              "thread does "
              "the work, the thread's own processor time, which leaves out what it waited"),
        field("operation", &T::operation, "What one operation is"),
        field("ns_per_op", &T::ns_per_op, "Nanoseconds per operation").or_null(),
        field("bytes_per_second", &T::bytes_per_second, "Bytes per second; null where none are moved").or_null(),
        field("cycles_per_op", &T::cycles_per_op, "Core cycles per operation; null where they are not known").or_null(),
        field("cycles_per_byte", &T::cycles_per_byte, "Core cycles per byte; null where they are not known").or_null(),
        field("cycles_source", &T::cycles_source, "How cycles were obtained"),
        added("tracing", &T::tracing, "null: nothing held the work up. Records of earlier versions lack it"),
        added("processor", &T::processor,
              "null for kernels and where a tracer took part. Records of earlier versions lack it"));
    static void check(const Node& node, T& time) {
        const Node repetitions = node.at("repetitions");
        if (repetitions.count() != time.ns_per_op.count) repetitions.complain("differs from ns_per_op.count");
        if (time.known && time.ns_per_op.count == 0) node.complain("is measured but has no ns_per_op");
    }
};

template <>
struct Description<record::TimedRepetition> {
    using T = record::TimedRepetition;
    static constexpr std::string_view name = "repetition",
                                      meaning = "One timed repetition of a kernel, or one run of a command";
    static constexpr auto fields = std::make_tuple(
        field("ns_per_op", &T::ns_per_op, "Nanoseconds per operation; of a command, of one run"),
        optional("processor_ns_per_op", &T::processor_ns_per_op,
                 "The same in processor time of the thread that was timed; missing where it is not known"),
        added("clean", &T::clean,
              "Whether statistics may rest on it: nothing disturbed it, and a command did not fail where another run "
              "succeeded"),
        optional("cause", &T::cause, "Of a disturbed one"),
        optional("size", &T::size, "Of the disturbance: see disturbed_by.cause"),
        optional("reason", &T::reason, "Why it is not clean"),
        optional("clock_hz", &T::clock_hz, "Core clock beside the repetition, in Hz"),
        optional("exit_status", &T::exit_status, "A command's: as a shell gives it, 128 + signal where one ended it"),
        optional("user_ns", &T::user_ns,
                 "A command's processor time in user mode, with the children that it waited for"),
        optional("system_ns", &T::system_ns, "A command's processor time in the kernel"));
};

}  // namespace tmaprobe::json
