#pragma once

#include <span>

#include "counters/perf/counter_set.h"
#include "record/record.h"

namespace tmaprobe::counters::perf {

/// How a region was bracketed: counters started and stopped around it, or left running and read twice.
enum class Bracketing { started_and_stopped, read_twice };

/// What an event's counts of one measurement are worth.
struct Judged {
    record::Reading reading;  ///< summed over CPUs and threads; running 0: not counted
    record::Note note = record::Note::none;
};

/// What one instance counted between two reads (`before` is all zero for counters that were started from
/// zero). `elapsed_ns` is the region's own length, for user-space reads whose page shows no times.
///
/// A count that got smaller is a wrap at 48 bits if both reads lie within 48 bits and it had passed the
/// upper half; else it went backwards and is not counted. Times that go backwards, or more time running
/// than enabled (beyond a thousandth), are impossible: the count is kept raw and the note says so.
///
/// `enabled_before_ns`: how long the event had been enabled at the first read, by its page's clock; 0: not known. A
/// page read shows stale times while the event stays on its counter; where it has lost it by the second read, the
/// kernel gives the times since it was opened, and what lay before the region is taken off.
Judged judge(const RawCount& before, const RawCount& after, Bracketing bracketing, std::uint64_t elapsed_ns,
             std::uint64_t enabled_before_ns = 0);

/// The sum over instances, scaled: raw x enabled / running, in floating point, over the summed times.
/// An instance that never ran because its thread or CPU never ran (enabled 0) adds nothing; one that was
/// enabled but never ran makes the sum an extrapolation, which its share shows. `extrapolate` false keeps
/// the raw sum (hybrid PMUs, whose share is residency).
Judged combine(std::span<const Judged> instances, bool extrapolate);

}  // namespace tmaprobe::counters::perf
