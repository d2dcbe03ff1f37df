#include "counters/model/held.h"

#include <time.h>

#include <algorithm>

#include "counters/command.h"

namespace tmaprobe::counters::model {

Added added_by(const Held& held, std::size_t instructions, double cycles_per_instruction, double frequency_hz) {
    constexpr double usual = 1, factor = 3;  // cycles per instruction where nothing was modelled; how wrong either may be
    // From nothing to what a stop costs on a busy virtual machine; a quiet one was seen to take 10 us.
    constexpr double stop_ns = 10e3, most_per_stop_ns = 60e3;
    const double cycles = cycles_per_instruction > 0 ? cycles_per_instruction : usual;
    const double natively_ns = frequency_hz > 0 ? static_cast<double>(instructions) * cycles / frequency_hz * 1e9 : 0;
    constexpr double unseen = 0.1;
    const double stopped = held.wall_ns - held.own_ns, stops = static_cast<double>(held.stops);
    Added added;
    added.ns = stopped - std::min(natively_ns, stopped) + stops * stop_ns;
    added.high_ns = (1 + unseen) * stopped - std::min(natively_ns / factor, stopped) + stops * most_per_stop_ns;
    // What others did while the thread was held may be what the command waited for in the end.
    added.low_ns = stopped - std::min(natively_ns * factor + held.perhaps_own_ns + held.idle_ns + held.others_ns + unseen * stopped, stopped);
    return added;
}

HeldWatch::HeldWatch(const TracedProcess& process, Held& held)
    : process_(process), held_(held), start_ns_(now_ns()), own_ns_(process.own_ns()),
      perhaps_own_ns_(process.perhaps_own_ns()), others_ns_(process.processor_ns_of_others()), used_ns_(used_ns()) {}

HeldWatch::~HeldWatch() {
    const double wall = static_cast<double>(now_ns() - start_ns_);
    const double own = static_cast<double>(process_.own_ns() - own_ns_);
    held_.wall_ns += wall;
    held_.own_ns += own;
    held_.idle_ns += std::max(0.0, wall - own - static_cast<double>(used_ns() - used_ns_));
    held_.perhaps_own_ns += static_cast<double>(process_.perhaps_own_ns() - perhaps_own_ns_);
    const std::uint64_t others = process_.processor_ns_of_others();
    held_.others_ns += std::min(wall, static_cast<double>(others - std::min(others, others_ns_)));
}

/// Processor time of the tracer and of the traced thread: they take turns.
std::uint64_t HeldWatch::used_ns() const {
    timespec ours{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ours);
    return static_cast<std::uint64_t>(ours.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(ours.tv_nsec) + process_.processor_ns();
}

bool HeldWatch::waited_for_others() const {
    constexpr std::uint64_t long_wait_ns = 5'000'000;
    const std::uint64_t own = process_.own_ns() - own_ns_;
    return process_.further_tasks() > 0 && own > long_wait_ns && 2 * own > now_ns() - start_ns_;
}

}  // namespace tmaprobe::counters::model
