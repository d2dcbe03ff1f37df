#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "counters/perf/counter_set.h"
#include "counters/perf/perf.h"
#include "machine/pmu_devices.h"
#include "process/held_command.h"

namespace tmaprobe::counters::perf {
namespace {

#if defined(__aarch64__)
constexpr std::uint64_t general_event = 0x08;     // retired instructions: no counter of their own on Arm
constexpr std::uint64_t fixed_events[] = {0x11};  // the cycle counter
constexpr std::uint64_t cycles_event = 0x11;
constexpr int most_general = 31;
#else
constexpr std::uint64_t general_event = 0xc4;  // a branch event of Intel and AMD: general-purpose counters only
constexpr std::uint64_t fixed_events[] = {0xc0, 0x3c, 0x300};  // instructions, cycles, reference cycles
constexpr std::uint64_t cycles_event = 0x3c;
constexpr int most_general = 16;
#endif
constexpr std::uint64_t slots_event = 0x400;

/// Long enough for the kernel to have put a group on the counters, if it can at all.
constexpr std::uint64_t spin_ns = 20'000;

PlannedEvent event_of(const std::string& pmu, std::uint64_t config) {
    PlannedEvent event{"probe", {}, false};
    event.definition.pmu = pmu;
    event.definition.config = config;
    return event;
}

std::vector<EventGroup> group_of(const std::string& pmu, int copies, std::vector<std::uint64_t> others = {}) {
    EventGroup group{pmu, {}};
    for (int copy = 0; copy < copies; ++copy) group.events.push_back(event_of(pmu, general_event));
    for (const std::uint64_t config : others) group.events.push_back(event_of(pmu, config));
    return {group};
}

/// How many of the events the kernel accepts as one group, against an empty PMU.
int accepted_together(const std::vector<EventGroup>& groups) {
    const auto set = CounterSet::open(groups, {});
    if (!set) return 0;
    return static_cast<int>(std::count_if(set->opened().begin(), set->opened().end(),
                                          [](const auto& event) { return event.error == 0 && !event.moved; }));
}

/// Whether the whole group gets onto the counters now, beside whatever else is counted: a pinned group
/// runs at once or never.
bool runs_together(const std::vector<EventGroup>& groups) {
    CountingTarget target;
    target.pinned = true;
    auto set = CounterSet::open(groups, target);
    if (!set || !set->enable()) return false;
    for (const std::uint64_t start = process::now_ns(); process::now_ns() - start < spin_ns;) {
    }
    (void)set->disable();
    std::vector<RawCount> counts;
    set->read(counts);
    const bool all_open = std::all_of(set->opened().begin(), set->opened().end(),
                                      [](const auto& event) { return event.error == 0 && !event.moved; });
    return all_open && std::all_of(counts.begin(), counts.end(), [](const auto& count) {
               return !count.error && !count.end_of_file && count.running_ns > 0;
           });
}

/// Keeps the calling thread on a PMU's CPUs while it is probed.
class Stay {
  public:
    explicit Stay(const std::vector<int>& cpus) {
        if (cpus.empty()) there_ = true;
        if (cpus.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
        cpu_set_t wanted;
        CPU_ZERO(&wanted);
        for (const int cpu : cpus)
            if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &wanted);
        there_ = moved_ = CPU_COUNT(&wanted) > 0 && ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
    }
    /// False where this thread may not run on any of the CPUs: then nothing can be seen to count there.
    bool there() const { return there_; }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    ~Stay() {
        if (moved_) ::sched_setaffinity(0, sizeof before_, &before_);
    }

  private:
    cpu_set_t before_{};
    bool moved_ = false, there_ = false;
};

/// Residency is told by a cycle counter on every PMU of a hybrid, so that counter is not free for events.
void reserve_residency(PmuLimits& limits) {
    for (int number = 0; number < limits.fixed_counters; ++number)
        if (fixed_events[number] == cycles_event) {
            if (std::ranges::find(limits.fixed_taken, number) == limits.fixed_taken.end())
                limits.fixed_taken.push_back(number);
            return;
        }
    limits.general_counters = std::max(1, limits.general_counters - 1);
}

std::optional<PmuLimits> probe(const machine::Pmu& pmu) {
    const Stay stay(pmu.cpus);
    const int accepted = accepted_together(group_of(pmu.name, most_general));
    if (accepted == 0) return std::nullopt;
    int free = accepted;
    // What cannot be tried is taken to be as the kernel accepts it.
    const auto counts = [&](const std::vector<EventGroup>& groups) { return !stay.there() || runs_together(groups); };
    while (free > 0 && !counts(group_of(pmu.name, free))) --free;

    PmuLimits limits;
    limits.pmu = pmu.name;
    limits.general_counters = free;
    int number = 0;
    for (const std::uint64_t config : fixed_events) {
        const int fixed = number++;
        // One more than the general-purpose counters hold: it fits only on a counter of its own.
        if (accepted_together(group_of(pmu.name, accepted, {config})) <= accepted) continue;
        limits.fixed_counters = fixed + 1;
        if (!counts(group_of(pmu.name, free, {config}))) limits.fixed_taken.push_back(fixed);
    }
    limits.taken_counters = accepted - free + static_cast<int>(limits.fixed_taken.size());
    limits.has_slots = pmu.has_slots && counts(group_of(pmu.name, 0, {slots_event}));
    limits.has_level2_metrics = limits.has_slots && pmu.has_level2_metrics;
    return limits;
}

}  // namespace

bool slots_open(const machine::Pmu& pmu) {
    const Stay stay(pmu.cpus);
    return accepted_together(group_of(pmu.name, 0, {slots_event})) == 1;
}

bool opens(const PlannedEvent& event) {
    const auto set = CounterSet::open({{event.definition.pmu, {event}}}, {});
    return set && set->any_open();
}

int software_error() {
    auto clock = event_of("software", 1);
    const auto set = CounterSet::open({{"software", {clock}}}, {});
    return set ? set->opened().front().error : EMFILE;
}

std::vector<PmuLimits> probe_limits() {
    std::vector<PmuLimits> all;
    const auto& pmus = known_core_pmus();
    for (const auto& pmu : pmus) {
        auto limits = probe(pmu);
        if (!limits) continue;
        if (pmus.size() > 1) reserve_residency(*limits);
        all.push_back(std::move(*limits));
    }
    return all;
}

}  // namespace tmaprobe::counters::perf
