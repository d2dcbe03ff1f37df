#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/statistics.h"
#include "record/disturbance.h"

namespace tmaprobe::record {

/// Of a single run under the model's tracer: what the clock showed, and what of it the tracer added. `ns_per_op` leaves
/// that out, and its low and high are the bounds that follow from these.
struct Tracing {
    double elapsed_ns = 0;
    double added_ns = 0, added_low_ns = 0, added_high_ns = 0;
};

/// Medians over the runs of a command, with the children that it waited for.
struct ProcessorTime {
    double user_ns = 0, system_ns = 0;
};

/// What the statistics are over: the wall clock, or the thread's own time, where too few repetitions were clean.
enum class ClockKind { wall, processor };

/// Seconds are never stored: times are nanoseconds per operation of the kernel ("op" is documented by it).
struct Time {
    bool known = false;
    std::string reason;     ///< why there is no time
    std::string operation;  ///< what one op is: "block of 64 bytes", "load", "command"
    Summary ns_per_op;
    Summary bytes_per_second;         ///< count 0: the kernel moves no bytes
    Summary cycles_per_op;            ///< count 0: cycles are not known
    double cycles_per_byte = 0;       ///< 0: not known
    std::string cycles_source;        ///< "counted", "clock measured by a dependent chain", ""
    int clean = 0, disturbed = 0;     ///< repetitions
    std::vector<DisturbedBy> causes;  ///< of the disturbed ones, the most frequent first
    ClockKind clock = ClockKind::wall;
    std::optional<Tracing> tracing;          ///< nothing: no tracer was there
    std::optional<ProcessorTime> processor;  ///< a command's
};

/// One timed repetition of a kernel, or one run of a command.
struct TimedRepetition {
    double ns_per_op = 0;
    std::optional<double> processor_ns_per_op;
    bool clean = true;
    std::optional<DisturbanceCause> cause;  ///< of a disturbed one
    std::optional<double> size;             ///< of the disturbance
    std::string reason;                     ///< why it is not clean
    std::optional<double> clock_hz;
    std::optional<int> exit_status;  ///< a command's
    std::optional<double> user_ns, system_ns;
};

}  // namespace tmaprobe::record

template <>
struct tmaprobe::Names<tmaprobe::record::ClockKind> {
    using enum record::ClockKind;
    static constexpr std::array<std::pair<record::ClockKind, std::string_view>, 2> values{
        {{wall, "wall"}, {processor, "processor"}}};
};
