#include "experiments/tree_of_counts.h"

#include <algorithm>

#include "judge/pmus.h"
#include "judge/series.h"
#include "machine/cores.h"

namespace tmaprobe::experiments {
namespace {

Result<std::vector<record::CoreValues>> cores_of(const Setup& setup, const Counted& counted,
                                                 const judge::AssessRequest& assessment, const std::string& pmu) {
    std::vector<int> cpus;
    for (const auto& [cpu, events] : counted.by_cpu)
        if (pmu.empty() || std::ranges::any_of(events, [&](const auto& event) { return event.pmu == pmu; }))
            cpus.push_back(cpu);
    std::vector<record::CoreValues> cores;
    for (const auto& [core, members] : machine::by_core(setup.topology, cpus)) {
        std::vector<std::vector<record::Event>> events;
        for (const int cpu : members) events.push_back(counted.by_cpu.at(cpu));
        auto values = TRY(judge::assess_values(*setup.table, sum_of(events), assessment));
        cores.push_back({core, members, std::move(values)});
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

void add_tree(Tree tree, record::Run& run) {
    run.metrics = std::move(tree.metrics);
    run.events.insert(run.events.end(), tree.events.begin(), tree.events.end());
    run.extra.series = std::move(tree.series);
    run.extra.per_core = std::move(tree.per_core);
}

}  // namespace tmaprobe::experiments
