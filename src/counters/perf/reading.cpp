#include "counters/perf/reading.h"

#include <algorithm>

namespace tmaprobe::counters::perf {
namespace {

constexpr std::uint64_t counter_range = std::uint64_t{1} << 48;

/// Kernel and user-space clocks are read at slightly different moments.
constexpr double time_tolerance = 0.001;

/// Fills in the times of a region between two reads; false when they are impossible.
bool judge_times(RawCount before, const RawCount& after, Bracketing bracketing, std::uint64_t elapsed_ns,
                 std::uint64_t enabled_before_ns, record::Reading& reading) {
    const bool lost_its_counter = bracketing == Bracketing::read_twice && after.enabled_ns != after.running_ns;
    if (lost_its_counter && before.enabled_ns == before.running_ns && enabled_before_ns > before.enabled_ns)
        before.enabled_ns = before.running_ns = std::min(enabled_before_ns, after.running_ns);
    if (after.enabled_ns < before.enabled_ns || after.running_ns < before.running_ns) return false;
    reading.time_enabled_ns = after.enabled_ns - before.enabled_ns;
    reading.time_running_ns = after.running_ns - before.running_ns;
    // A mapped page shows the times of the last time the event was put on a counter. When they agree, it
    // has been there ever since, and the region's own length is the time.
    if (bracketing == Bracketing::read_twice && after.enabled_ns == after.running_ns && after.enabled_ns > 0)
        reading.time_enabled_ns = reading.time_running_ns = elapsed_ns;
    return true;
}

}  // namespace

Judged judge(const RawCount& before, const RawCount& after, Bracketing bracketing, std::uint64_t elapsed_ns,
             std::uint64_t enabled_before_ns) {
    Judged judged;
    if (before.error || after.error) return {{}, record::Note::read_failed};
    if (after.end_of_file) return {{}, record::Note::not_counted};
    if (!judge_times(before, after, bracketing, elapsed_ns, enabled_before_ns, judged.reading))
        return {{}, record::Note::time_went_backwards};
    if (judged.reading.time_running_ns == 0) {
        judged.note = record::Note::not_counted;
        return judged;
    }
    if (after.value >= before.value) {
        judged.reading.raw = after.value - before.value;
    } else if (before.value < counter_range && before.value >= counter_range / 2) {
        judged.reading.raw = counter_range - before.value + after.value;
        judged.note = record::Note::wrapped;
    } else {
        return {{}, record::Note::went_backwards};
    }
    const auto enabled = static_cast<double>(judged.reading.time_enabled_ns);
    if (static_cast<double>(judged.reading.time_running_ns) > enabled * (1 + time_tolerance))
        judged.note = record::Note::ran_longer_than_enabled;
    return judged;
}

Judged combine(std::span<const Judged> instances, bool extrapolate) {
    Judged sum;
    bool lost = false, some_never_ran = false;
    for (const auto& instance : instances) {
        sum.reading.raw += instance.reading.raw;
        sum.reading.time_enabled_ns += instance.reading.time_enabled_ns;
        sum.reading.time_running_ns += instance.reading.time_running_ns;
        some_never_ran =
            some_never_ran || (instance.reading.time_running_ns == 0 && instance.reading.time_enabled_ns > 0);
        if (instance.note == record::Note::none || instance.note == record::Note::not_counted) continue;
        sum.note = instance.note;
        lost = lost || (instance.reading.time_running_ns == 0);
    }
    // One instance whose count is lost makes the sum a wrong number: none is given.
    if (lost || instances.empty()) {
        sum.reading = {};
        if (sum.note == record::Note::none) sum.note = record::Note::not_counted;
        return sum;
    }
    if (sum.reading.time_running_ns == 0) {
        sum.note = record::Note::not_counted;
        return sum;
    }
    if (some_never_ran && sum.note == record::Note::none) sum.note = record::Note::partly_counted;
    const auto raw = static_cast<double>(sum.reading.raw);
    const double scale =
        static_cast<double>(sum.reading.time_enabled_ns) / static_cast<double>(sum.reading.time_running_ns);
    sum.reading.value = extrapolate && sum.note != record::Note::ran_longer_than_enabled ? raw * scale : raw;
    return sum;
}

}  // namespace tmaprobe::counters::perf
