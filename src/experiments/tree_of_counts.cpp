#include "experiments/tree_of_counts.h"

#include <algorithm>

#include "judge/pmus.h"
#include "judge/series.h"
#include "machine/cores.h"

namespace tmaprobe::experiments {
namespace {

/// CPUs, or threads, by the places that their counts are put together by.
std::map<int, std::vector<int>> by_place(const Setup& setup, const std::vector<int>& members) {
    if (setup.cpu_sums == CpuSums::core) return machine::by_core(setup.topology, members);
    std::map<int, std::vector<int>> places;
    for (const int member : members) {
        int place = member;
        const auto at = std::ranges::find(setup.topology.cpus, member, &machine::CpuPlace::cpu);
        if (setup.cpu_sums == CpuSums::socket && at != setup.topology.cpus.end()) place = at->package;
        if (setup.cpu_sums == CpuSums::node && at != setup.topology.cpus.end()) place = at->numa_node;
        places[place].push_back(member);
    }
    return places;
}

void add_counts_of(const std::vector<record::Event>& events, record::Values& values) {
    for (const auto& event : events)
        values[event.name] = event.reading.time_running_ns > 0 ? std::optional(event.reading.value) : std::nullopt;
}

record::CoreValues place_of(const Setup& setup, int number, const std::vector<int>& cpus, record::Values values) {
    record::CoreValues place{number, {}, std::move(values), {}};
    if (setup.cpu_sums == CpuSums::cgroup)
        place.name = setup.cgroups.at(static_cast<std::size_t>(number));
    else if (setup.cpu_sums != CpuSums::thread)
        place.cpus = cpus;
    return place;
}

Result<std::vector<record::CoreValues>> cores_of(const Setup& setup, const Counted& counted,
                                                 const judge::AssessRequest& assessment, const std::string& pmu) {
    std::vector<int> cpus;
    for (const auto& [cpu, events] : counted.by_cpu)
        if (pmu.empty() || std::ranges::any_of(events, [&](const auto& event) { return event.pmu == pmu; }))
            cpus.push_back(cpu);
    std::vector<record::CoreValues> cores;
    for (const auto& [core, members] : by_place(setup, cpus)) {
        std::vector<std::vector<record::Event>> events;
        for (const int cpu : members) events.push_back(counted.by_cpu.at(cpu));
        const auto sums = sum_of(events);
        auto values = TRY(judge::assess_values(*setup.table, sums, assessment));
        // Who asks for places wants to see the counts there, too.
        if (setup.cpu_sums != CpuSums::core) add_counts_of(sums, values);
        cores.push_back(place_of(setup, core, members, std::move(values)));
    }
    return cores;
}

}  // namespace

Result<Tree> tree_of_counts(const Setup& setup, const Counted& counted, judge::AssessRequest assessment,
                            const std::string& pmu) {
    assessment.pmu = pmu;
    auto metrics = TRY(judge::assess(*setup.table, counted.events, assessment));
    Tree tree{std::move(metrics), judge::events_on(counted.events, pmu), {}, {}};
    assessment.repetitions.clear();
    assessment.variations.clear();
    if (!counted.series.empty()) {
        std::vector<judge::Moment> moments;
        for (const auto& interval : counted.series)
            moments.push_back({static_cast<double>(interval.start_ns + interval.duration_ns) * 1e-9, interval.events});
        auto series = TRY(judge::assess_series(*setup.table, moments, assessment));
        tree.series = std::move(series);
    }
    if (!counted.by_cpu.empty()) {
        tree.per_core = TRY(cores_of(setup, counted, assessment, pmu));
    }
    return tree;
}

std::vector<record::CoreValues> counts_by_place(const Setup& setup, const Counted& counted) {
    std::vector<record::CoreValues> places;
    std::vector<int> members;
    for (const auto& [member, events] : counted.by_cpu) members.push_back(member);
    for (const auto& [place, here] : by_place(setup, members)) {
        std::vector<std::vector<record::Event>> events;
        for (const int member : here) events.push_back(counted.by_cpu.at(member));
        record::Values values;
        add_counts_of(sum_of(events), values);
        places.push_back(place_of(setup, place, here, std::move(values)));
    }
    return places;
}

void add_tree(Tree tree, record::Run& run) {
    run.metrics = std::move(tree.metrics);
    run.events.insert(run.events.end(), tree.events.begin(), tree.events.end());
    run.extra.series = std::move(tree.series);
    run.extra.per_core = std::move(tree.per_core);
}

}  // namespace tmaprobe::experiments
