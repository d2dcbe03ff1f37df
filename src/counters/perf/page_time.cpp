#include "counters/perf/page_time.h"

#include <atomic>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tmaprobe::counters::perf {
namespace {

std::uint64_t read_timestamp() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks = 0;
    asm volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/// The kernel changes the page under us: every field is read exactly once per try.
template <class T>
T once(const T& field) {
    return *static_cast<const volatile T*>(&field);
}

}  // namespace

std::optional<std::uint64_t> enabled_time(const perf_event_mmap_page& page) {
    std::uint32_t sequence = 0;
    std::uint64_t enabled = 0;
    do {
        sequence = once(page.lock);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (!page.cap_user_time) return std::nullopt;
        std::uint64_t ticks = read_timestamp();
        if (page.cap_user_time_short)
            ticks = once(page.time_cycles) + ((ticks - once(page.time_cycles)) & once(page.time_mask));
        const std::uint16_t shift = once(page.time_shift);
        const std::uint32_t factor = once(page.time_mult);
        const std::uint64_t whole = ticks >> shift, rest = ticks & ((std::uint64_t{1} << shift) - 1);
        enabled = once(page.time_enabled) + once(page.time_offset) + whole * factor + ((rest * factor) >> shift);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } while (once(page.lock) != sequence);
    return enabled;
}

}  // namespace tmaprobe::counters::perf
