#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "counters/command.h"
#include "counters/perf/counter_set.h"
#include "counters/perf/perf.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::counters::perf {
namespace {

#if defined(__aarch64__)
constexpr std::uint64_t general_event = 0x08;  // retired instructions: no counter of their own on Arm
constexpr std::uint64_t fixed_events[] = {0x11};  // the cycle counter
constexpr int most_general = 31;
#else
constexpr std::uint64_t general_event = 0xc4;  // a branch event of Intel and AMD: general-purpose counters only
constexpr std::uint64_t fixed_events[] = {0xc0, 0x3c, 0x300};  // instructions, cycles, reference cycles
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

std::vector<Group> group_of(const std::string& pmu, int copies, std::vector<std::uint64_t> others = {}) {
    Group group{pmu, {}};
    for (int copy = 0; copy < copies; ++copy) group.events.push_back(event_of(pmu, general_event));
    for (const std::uint64_t config : others) group.events.push_back(event_of(pmu, config));
    return {group};
}

/// How many of the events the kernel accepts as one group, against an empty PMU.
int accepted_together(const std::vector<Group>& groups) {
    const auto set = CounterSet::open(groups, {});
    if (!set) return 0;
    return static_cast<int>(std::count_if(set->opened().begin(), set->opened().end(),
                                          [](const auto& event) { return event.error == 0 && !event.moved; }));
}

/// Whether the whole group gets onto the counters now, beside whatever else is counted: a pinned group
/// runs at once or never.
bool runs_together(const std::vector<Group>& groups) {
    Target target;
    target.pinned = true;
    auto set = CounterSet::open(groups, target);
    if (!set || !set->enable()) return false;
    for (const std::uint64_t start = now_ns(); now_ns() - start < spin_ns;) {}
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
        if (cpus.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
        cpu_set_t wanted;
        CPU_ZERO(&wanted);
        for (const int cpu : cpus)
            if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &wanted);
        moved_ = CPU_COUNT(&wanted) > 0 && ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
    }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    ~Stay() {
        if (moved_) ::sched_setaffinity(0, sizeof before_, &before_);
    }

  private:
    cpu_set_t before_{};
    bool moved_ = false;
};

std::optional<PmuLimits> probe(const machine::Pmu& pmu) {
    const Stay stay(pmu.cpus);
    const int accepted = accepted_together(group_of(pmu.name, most_general));
    if (accepted == 0) return std::nullopt;
    int free = accepted;
    while (free > 0 && !runs_together(group_of(pmu.name, free))) --free;

    PmuLimits limits;
    limits.pmu = pmu.name;
    limits.general_counters = free;
    int number = 0;
    for (const std::uint64_t config : fixed_events) {
        const int fixed = number++;
        // One more than the general-purpose counters hold: it fits only on a counter of its own.
        if (accepted_together(group_of(pmu.name, accepted, {config})) <= accepted) continue;
        limits.fixed_counters = fixed + 1;
        if (!runs_together(group_of(pmu.name, free, {config}))) limits.fixed_taken.push_back(fixed);
    }
    limits.has_slots = pmu.has_slots && runs_together(group_of(pmu.name, 0, {slots_event}));
    limits.has_level2_metrics = limits.has_slots && pmu.has_level2_metrics;
    return limits;
}

}  // namespace

int software_error() {
    auto clock = event_of("software", 1);
    const auto set = CounterSet::open({{"software", {clock}}}, {});
    return set ? set->opened().front().error : EMFILE;
}

std::vector<PmuLimits> probe_limits() {
    std::vector<PmuLimits> all;
    for (const auto& pmu : machine::core_pmus())
        if (auto limits = probe(pmu)) all.push_back(std::move(*limits));
    return all;
}

}  // namespace tmaprobe::counters::perf
