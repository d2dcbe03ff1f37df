#include "counters/perf/clock_events.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <string>

#include "process/held_command.h"

namespace tmaprobe::counters::perf {
namespace {

#if defined(__x86_64__)
constexpr bool has_time_stamp_counter = true;
std::uint64_t time_stamp() { return __rdtsc(); }
#else
constexpr bool has_time_stamp_counter = false;
std::uint64_t time_stamp() { return 0; }
#endif

// As the table of the kernel's own events has them.
constexpr std::uint64_t duration_time = 1, tsc = 0;

enum class Clock { none, duration, time_stamp };

Clock clock_of(const std::string& pmu, std::uint64_t config) {
    if (pmu == "tool" && config == duration_time) return Clock::duration;
    if (pmu == "msr" && config == tsc && has_time_stamp_counter) return Clock::time_stamp;
    return Clock::none;
}

}  // namespace

Instant now() { return {process::now_ns(), time_stamp()}; }

bool is_clock_event(const PlannedEvent& event) {
    return clock_of(event.definition.pmu, event.definition.config) != Clock::none;
}

void set_clock_events(std::vector<record::Event>& events, const Instant& elapsed) {
    for (record::Event& event : events) {
        const Clock clock = event.key ? clock_of(event.pmu, event.key->config) : Clock::none;
        if (clock == Clock::none) continue;
        auto& reading = event.reading;
        reading.raw = clock == Clock::duration ? elapsed.ns : elapsed.ticks;
        reading.value = static_cast<double>(reading.raw);
        reading.time_enabled_ns = reading.time_running_ns = elapsed.ns;
        event.note = record::Note::none;
    }
}

}  // namespace tmaprobe::counters::perf
