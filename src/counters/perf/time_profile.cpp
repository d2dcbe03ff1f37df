#include "counters/perf/time_profile.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tmaprobe::counters::perf {
namespace {

constexpr std::uint64_t period_ns = 1'000'000;
// A timer of a virtual machine is dear: on Zen 4 under KVM a look takes 14 us, 1.4% of a millisecond.
constexpr double look_ns = 14e3;
constexpr std::uint64_t most_counts = 4, looks_less_after = 500;
constexpr std::size_t most_watched = 32;
constexpr std::size_t data_pages = 16;  ///< a power of two; of 4k they hold some 4,000 looks

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
std::size_t ring_bytes() { return (1 + data_pages) * page_bytes(); }

/// A record of the kernel's: PERF_SAMPLE_IP alone.
struct LookRecord {
    perf_event_header header;
    std::uint64_t address;
};

/// The same, of looks that did not fit.
struct LostRecord {
    perf_event_header header;
    std::uint64_t event, lost;
};

}  // namespace

TimeProfile::~TimeProfile() {
    for (const Watched& one : watched_) ::munmap(one.ring, ring_bytes());
}

void TimeProfile::add(pid_t process, pid_t thread) {
    if (!known_.insert(thread).second || watched_.size() >= most_watched) return;
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = period_ns;
    attributes.sample_type = PERF_SAMPLE_IP;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    Watched watched{
        process,
        Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)))};
    if (!watched.event) return;
    watched.ring = ::mmap(nullptr, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, watched.event.get(), 0);
    if (watched.ring == MAP_FAILED) return;
    watched_.push_back(std::move(watched));
}

std::uint64_t TimeProfile::apart_ns() { return period_ns; }

double TimeProfile::cost_ns() const { return look_ns * static_cast<double>(taken_); }

void TimeProfile::read() {
    for (Watched& one : watched_) {
        read(one);
        if (one.counts < most_counts && one.sum >= looks_less_after * one.counts) look_less(one);
    }
}

void TimeProfile::look_less(Watched& watched) {
    std::uint64_t longer_ns = 2 * watched.counts * period_ns;
    if (::ioctl(watched.event.get(), PERF_EVENT_IOC_PERIOD, &longer_ns) != 0) return;
    watched.counts *= 2;
    most_of_a_look_ = std::max(most_of_a_look_, watched.counts);
}

void TimeProfile::read(Watched& watched) {
    auto& page = *static_cast<perf_event_mmap_page*>(watched.ring);
    const auto* data = static_cast<const std::uint8_t*>(watched.ring) + page_bytes();
    const std::uint64_t bytes = data_pages * page_bytes();
    const std::uint64_t head = std::atomic_ref(page.data_head).load(std::memory_order_acquire);
    std::uint64_t tail = page.data_tail;
    const auto copy = [&](std::uint64_t from, void* to, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) static_cast<std::uint8_t*>(to)[i] = data[(from + i) % bytes];
    };
    while (tail < head) {
        LookRecord look{};
        copy(tail, &look.header, sizeof look.header);
        if (look.header.size == 0) break;
        if (look.header.type == PERF_RECORD_SAMPLE && look.header.size >= sizeof look) {
            copy(tail, &look, sizeof look);
            looks_[watched.process][look.address] += watched.counts;
            watched.sum += watched.counts;
            ++taken_;
        } else if (look.header.type == PERF_RECORD_LOST && look.header.size >= sizeof(LostRecord)) {
            LostRecord record{};
            copy(tail, &record, sizeof record);
            lost_ += record.lost;
        }
        tail += look.header.size;
    }
    std::atomic_ref(page.data_tail).store(tail, std::memory_order_release);
}

}  // namespace tmaprobe::counters::perf
