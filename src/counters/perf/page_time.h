#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

namespace tmaprobe::counters::perf {

/// How long an event of the calling thread has been enabled, in ns of the thread's own time on a CPU, read
/// from its mapped page without a system call (the sequence of linux/perf_event.h). Nothing when the
/// kernel does not offer the clock here.
std::optional<std::uint64_t> enabled_time(const perf_event_mmap_page& page);

}  // namespace tmaprobe::counters::perf
