#include "counters/perf/sampler.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/file.h"
#include "counters/perf/attributes.h"
#include "counters/perf/open_files.h"
#include "machine/sysfs.h"

namespace tmaprobe::counters::perf {
namespace {

constexpr std::size_t data_pages = 8;  ///< a power of two: some 800 samples of 40 bytes
constexpr unsigned most_precise = 3;
/// Each fork() of a program copies them, and the end of what was forked gives them back: 1.6 us each, measured with 512
/// software events (Linux 6.18, a virtual machine). These are as many as counting a deep tree takes.
constexpr std::size_t most_inherited = 192;

bool has_no_room(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC; }

/// The kernel refuses more samples than it has found to be affordable.
std::uint64_t affordable(std::uint64_t per_second) {
    const std::uint64_t most =
        std::strtoull(read_line("/proc/sys/kernel/perf_event_max_sample_rate").c_str(), nullptr, 10);
    return most > 0 ? std::min(per_second, most) : per_second;
}

/// A ring cannot be of any CPU where children are sampled too: then there is an event on each CPU that the first thread
/// may run on.
CountingTarget with_cpus(CountingTarget target) {
    if (!target.inherit || target.cpus != std::vector<int>{-1}) return target;
    target.cpus = machine::parse_cpu_list(read_line("/sys/devices/system/cpu/online"));
    cpu_set_t allowed;
    if (::sched_getaffinity(target.threads.front(), sizeof allowed, &allowed) == 0)
        std::erase_if(target.cpus, [&](int cpu) { return cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed); });
    return target;
}

int open_event(perf_event_attr& attributes, pid_t thread, int cpu) {
    return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

Result<Sampler> Sampler::open(const std::vector<PlannedEvent>& events, const CountingTarget& wanted,
                              const SamplingRequest& request) {
    Sampler sampler;
    sampler.fields_ = request.fields | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD;
    sampler.errors_.assign(events.size(), 0);
    sampler.lost_.assign(events.size(), 0);
    sampler.wakes_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    const CountingTarget target = with_cpus(wanted);
    const auto& pmus = known_core_pmus();
    std::size_t files = 0;
    for (const PlannedEvent& event : events) files += instances_of(event, target, pmus).count();
    const auto no_room = [&] {
        return fail(ErrorCode::unavailable, "no room for the files and rings of " + std::to_string(files) + " events");
    };
    if (files > files_left() || (target.inherit && files > most_inherited)) return no_room();
    for (std::size_t event = 0; event < events.size(); ++event) {
        const Instances on = instances_of(events[event], target, pmus);
        bool any = false;
        int first_error = ENODEV;  // of a PMU that none of the CPUs has
        for (const int cpu : on.cpus)
            for (const pid_t thread : on.threads) {
                const int error = sampler.open_one(event, events[event], target, {cpu, thread}, request);
                if (has_no_room(error)) return no_room();
                any = any || error == 0;
                if (error && (first_error == ENODEV || first_error == ESRCH)) first_error = error;
            }
        sampler.errors_[event] = any ? 0 : first_error;
    }
    return sampler;
}

int Sampler::open_one(std::size_t event, const PlannedEvent& planned, const CountingTarget& target, const Slot& slot,
                      const SamplingRequest& request) {
    auto made = make_attributes(planned, target, true, known_core_pmus());
    if (!made) return ENOENT;
    perf_event_attr& attributes = *made;
    attributes.read_format = 0;
    attributes.sample_type = fields_;
    attributes.sample_id_all = 1;
    attributes.freq = 1;
    attributes.sample_freq = affordable(request.per_second);
    attributes.watermark = 1;
    attributes.wakeup_watermark = static_cast<std::uint32_t>(data_pages * SampleRing::page_bytes() / 2);
    // Precise samples of what runs in virtual machines are refused, or are none.
    if (request.precise > 0 && !attributes.exclude_host) attributes.exclude_guest = 1;
    Fd opened;
    int error = 0;
    for (unsigned precise = request.precise; precise <= most_precise; ++precise) {
        attributes.precise_ip = precise & most_precise;
        opened = Fd(open_event(attributes, slot.thread, slot.cpu));
        error = opened ? 0 : errno;
        log_open(planned, attributes, true, error);
        if (opened || (error != EINVAL && error != EOPNOTSUPP) || request.precise == 0) break;
    }
    if (!opened) return error;
    std::uint64_t id = 0;
    if (::ioctl(opened.get(), PERF_EVENT_IOC_ID, &id) != 0) return errno;
    if ((error = give_ring(opened, slot)) != 0) return error;
    events_by_id_[id] = event;
    opened_.push_back(std::move(opened));
    return 0;
}

/// Of each CPU, or of each thread where the CPU may be any, the first event has a ring, and all others write to it.
int Sampler::give_ring(const Fd& opened, const Slot& slot) {
    const int place = slot.cpu >= 0 ? slot.cpu : slot.thread;
    if (const auto owner = ring_owners_.find(place); owner != ring_owners_.end())
        return ::ioctl(opened.get(), PERF_EVENT_IOC_SET_OUTPUT, owner->second) == 0 ? 0 : errno;
    auto ring = SampleRing::map(opened.get(), data_pages);
    if (!ring) return ENOMEM;
    rings_.push_back(std::move(*ring));
    ring_owners_[place] = opened.get();
    // Without it the ring is read at the end alone, and what it cannot hold is lost, which is counted.
    (void)wake_by(opened.get());
    return 0;
}

bool Sampler::wake_by(int descriptor) {
    epoll_event readable{};
    readable.events = EPOLLIN;
    readable.data.fd = descriptor;
    return ::epoll_ctl(wakes_.get(), EPOLL_CTL_ADD, descriptor, &readable) == 0;
}

bool Sampler::any_open() const { return !opened_.empty(); }

Result<> Sampler::control(unsigned long request, const char* what) {
    int error = 0;
    for (const Fd& event : opened_)
        if (::ioctl(event.get(), request, 0) != 0) error = errno;
    return error ? fail_errno(error, what) : Result<>{};
}

Result<> Sampler::enable() { return control(PERF_EVENT_IOC_ENABLE, "cannot start sampling"); }

Result<> Sampler::disable() { return control(PERF_EVENT_IOC_DISABLE, "cannot stop sampling"); }

void Sampler::drain(const std::function<void(std::size_t event, const SampleRecord&)>& on_sample) {
    // A thread that has ended wakes for ever; what it left is read all the same.
    std::array<epoll_event, 32> woken{};
    const int count = ::epoll_wait(wakes_.get(), woken.data(), static_cast<int>(woken.size()), 0);
    for (int index = 0; index < count; ++index)
        if (woken[static_cast<std::size_t>(index)].events & (EPOLLHUP | EPOLLERR))
            (void)::epoll_ctl(wakes_.get(), EPOLL_CTL_DEL, woken[static_cast<std::size_t>(index)].data.fd, nullptr);
    for (SampleRing& ring : rings_) {
        records_.samples.clear();
        records_.lost.clear();
        ring.drain(fields_, records_);
        for (const SampleRecord& sample : records_.samples)
            if (const auto event = events_by_id_.find(sample.event); event != events_by_id_.end())
                on_sample(event->second, sample);
        for (const LostSamples& lost : records_.lost)
            if (const auto event = events_by_id_.find(lost.event); event != events_by_id_.end())
                lost_[event->second] += lost.count;
    }
}

}  // namespace tmaprobe::counters::perf
