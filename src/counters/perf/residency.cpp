#include "counters/perf/residency.h"

#include <algorithm>

#include "machine/pmu_devices.h"

namespace tmaprobe::counters::perf {

Residency operator-(const Residency& later, const Residency& earlier) {
    Residency difference = later;
    for (auto& [pmu, spent] : difference)
        if (const auto before = earlier.find(pmu); before != earlier.end()) spent -= std::min(spent, before->second);
    return difference;
}

std::optional<ResidencyCounters> ResidencyCounters::open(CountingTarget target) {
    const auto& pmus = known_core_pmus();
    if (pmus.size() < 2 || target.cpus != std::vector<int>{-1}) return std::nullopt;
    ResidencyCounters counters;
    std::vector<EventGroup> groups;
    for (const auto& pmu : pmus) {
        PlannedEvent cycles{"cycles", {}, false};
        cycles.definition.pmu = pmu.name;
        cycles.definition.config = pmu.name.starts_with("armv") ? 0x11 : 0x3c;
        groups.push_back({pmu.name, {cycles}});
        counters.pmus_.push_back(pmu.name);
    }
    target.pinned = true;
    target.user_space_reads = false;
    auto set = CounterSet::open(groups, target);
    if (!set || !set->any_open()) return std::nullopt;
    counters.set_ = std::move(*set);
    return counters;
}

Residency ResidencyCounters::read() const {
    Residency spent;
    std::vector<RawCount> counts;
    set_.read(counts);
    for (std::size_t event = 0; event < pmus_.size(); ++event) {
        if (set_.opened()[event].error) continue;
        const auto& place = set_.place(event);
        std::uint64_t& running = spent[pmus_[event]];
        for (std::size_t index = place.first; index < place.first + place.count; ++index)
            running += counts[index].running_ns;
    }
    return spent;
}

}  // namespace tmaprobe::counters::perf
