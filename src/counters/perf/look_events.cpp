#include "counters/perf/look_events.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

#include "counters/perf/counter_set.h"

namespace tmaprobe::counters::perf {
namespace {

constexpr std::uint64_t look_period_ns = 1'000'000;
/// About a millisecond of a core that is busy. All looks are as many cycles apart, so that none weighs more than
/// another, and primes, so that they keep step with no loop.
constexpr std::array<std::uint64_t, 3> look_cycles{4'000'037, 8'000'009, 16'000'057};
constexpr std::uint64_t whole_periods = 16;  ///< of what IBS takes; it begins each at a random one of so many
constexpr const char* ibs_leaves_out = "/sys/bus/event_source/devices/ibs_op/format/swfilt";
constexpr std::uint64_t fields_of_looks = PERF_SAMPLE_IP;
constexpr std::size_t pages_of_looks = 16;  ///< a power of two; of 4k they hold some 4,000 looks

/// On Arm the kernel takes any precision and gives none.
#if defined(__x86_64__)
constexpr unsigned most_precise_looks = 3;
#else
constexpr unsigned most_precise_looks = 0;
#endif

std::uint64_t period_of(LooksBy by, std::uint64_t counts, bool any_period) {
    if (by == LooksBy::time) return counts * look_period_ns;
    const auto cycles = look_cycles[std::min<std::size_t>(std::countr_zero(counts), look_cycles.size() - 1)];
    return any_period ? cycles : cycles / whole_periods * whole_periods;
}

perf_event_attr look_attributes(std::uint32_t type, std::uint64_t config, std::uint64_t period) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = config;
    attributes.sample_period = period;
    attributes.sample_type = fields_of_looks;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return attributes;
}

/// 0, or errno; and then `opened` is empty.
int open_look(const perf_event_attr& attributes, pid_t thread, Fd& opened) {
    opened = Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    return opened ? 0 : errno;
}

/// What is not because of how cycles were asked for.
bool refuses_all_ways(int error) { return error == ESRCH || error == EMFILE || error == ENFILE || error == ENOMEM; }

/// The kernel's number for cycles on each kind of core.
std::vector<std::uint64_t> cycles_of_cores() {
    constexpr int pmu_type_shift = 32;
    const auto& pmus = known_core_pmus();
    if (pmus.size() < 2) return {PERF_COUNT_HW_CPU_CYCLES};
    std::vector<std::uint64_t> configs;
    for (const machine::Pmu& pmu : pmus)
        configs.push_back(PERF_COUNT_HW_CPU_CYCLES | static_cast<std::uint64_t>(pmu.type) << pmu_type_shift);
    return configs;
}

}  // namespace

void LookEvent::look_less() {
    std::uint64_t longer = period_of(by, 2 * counts, any_period);
    if (::ioctl(event.get(), PERF_EVENT_IOC_PERIOD, &longer) == 0) counts *= 2;
}

bool LookEvent::is_of_no_use() const {
    // Others' events take turns of some milliseconds at most.
    constexpr std::uint64_t long_enough_ns = 20'000'000, periods = 4;
    std::array<std::uint64_t, 3> read{};  // count, time since it was started, time in which it had a counter
    if (::read(event.get(), read.data(), sizeof read) != static_cast<ssize_t>(sizeof read)) return true;
    const auto [count, enabled_ns, running_ns] = read;
    return sum == 0 && enabled_ns >= long_enough_ns && (running_ns == 0 || count >= periods * every);
}

std::uint64_t LookEvents::period(LooksBy by, std::uint64_t counts) { return period_of(by, counts, true); }

/// The most precise first. PEBS does not take what virtual machines do, and has to be told.
std::vector<LookEvents::Way> LookEvents::ways() {
    std::vector<Way> all;
    for (unsigned precise = most_precise_looks; precise > 0; --precise) all.push_back({precise, true, false});
    // Older kernels cannot leave their own code out of it, and refuse.
    if (::access(ibs_leaves_out, F_OK) == 0) all.push_back({2, false, true});
    all.push_back({0, true, false});
    all.push_back({0, false, false});
    return all;
}

unsigned LookEvents::precision() const {
    unsigned least = most_precise_looks;
    for (const auto& way : ways_) least = std::min(least, way ? way->precise : 0);
    return ways_.empty() ? 0 : least;
}

Result<std::vector<LookEvent>> LookEvents::open(pid_t thread, LooksBy by) {
    std::vector<LookEvent> events;
    const auto add = [&](std::optional<LookEvent> event) {
        if (event) events.push_back(std::move(*event));
        return event.has_value();
    };
    bool all = true;
    if (by == LooksBy::time) {
        all = add(open_time(thread));
    } else {
        const auto configs = cycles_of_cores();
        ways_.resize(configs.size());
        for (std::size_t core = 0; core < configs.size() && all; ++core)
            all = add(open_cycles(thread, configs[core], ways_[core]));
    }
    if (!all) return fail_errno(error_, "cannot look where a thread is");
    return events;
}

std::optional<LookEvent> LookEvents::open_cycles(pid_t thread, std::uint64_t config, std::optional<Way>& way) {
    if (way) return open_cycles(thread, config, *way);
    for (const Way& possible : ways()) {
        auto event = open_cycles(thread, config, possible);
        if (event) way = possible;
        if (event || refuses_all_ways(error_)) return event;
    }
    return {};
}

std::optional<LookEvent> LookEvents::open_cycles(pid_t thread, std::uint64_t config, const Way& way) {
    const std::uint64_t period = period_of(LooksBy::cycles, 1, !way.by_ibs);
    auto attributes = look_attributes(PERF_TYPE_HARDWARE, config, period);
    attributes.precise_ip = way.precise & most_precise_looks;
    attributes.exclude_guest = way.without_guests;
    attributes.config2 = way.by_ibs;  // swfilt: by the kernel, sample by sample
    Fd event;
    if (const int error = open_look(attributes, thread, event)) {
        error_ = error;
        return {};
    }
    return with_ring(LooksBy::cycles, std::move(event), period, !way.by_ibs);
}

std::optional<LookEvent> LookEvents::open_time(pid_t thread) {
    Fd event;
    if (const int error =
            open_look(look_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, look_period_ns), thread, event)) {
        error_ = error;
        return {};
    }
    return with_ring(LooksBy::time, std::move(event), look_period_ns, true);
}

std::optional<LookEvent> LookEvents::with_ring(LooksBy by, Fd event, std::uint64_t every, bool any_period) {
    auto ring = SampleRing::map(event.get(), pages_of_looks);
    if (!ring) {
        error_ = ENOMEM;
        return {};
    }
    return LookEvent{by, std::move(event), std::move(*ring), every, any_period};
}

}  // namespace tmaprobe::counters::perf
