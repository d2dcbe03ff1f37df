#include "experiments/tree_of_counts.h"

#include <algorithm>

#include "experiments/cores.h"
#include "experiments/hybrid.h"
#include "experiments/series.h"

namespace tmaprobe::experiments {
namespace {

Result<nlohmann::json> cores_of(const Setup& setup, const Counted& counted, const AssessRequest& assessment,
                                const std::string& pmu) {
    std::vector<int> cpus;
    for (const auto& [cpu, events] : counted.by_cpu)
        if (pmu.empty() || std::ranges::any_of(events, [&](const auto& event) { return event.pmu == pmu; })) cpus.push_back(cpu);
    auto cores = nlohmann::json::array();
    for (const auto& [core, members] : by_core(setup.topology, cpus)) {
        std::vector<std::vector<record::Event>> events;
        for (const int cpu : members) events.push_back(counted.by_cpu.at(cpu));
        auto values = assess_values(*setup.table, sum_of(events), assessment);
        if (!values) return pass_on(values);
        cores.push_back({{"core", core}, {"cpus", members}, {"metrics", std::move(*values)}});
    }
    return cores;
}

}  // namespace

Result<Tree> tree_of_counts(const Setup& setup, const Counted& counted, AssessRequest assessment, const std::string& pmu) {
    assessment.pmu = pmu;
    auto metrics = assess(*setup.table, counted.events, assessment);
    if (!metrics) return pass_on(metrics);
    Tree tree{std::move(*metrics), events_on(counted.events, pmu), {}, {}};
    assessment.repetitions.clear();
    assessment.variations.clear();
    if (!counted.series.empty()) {
        std::vector<Moment> moments;
        for (const auto& interval : counted.series)
            moments.push_back({static_cast<double>(interval.start_ns + interval.duration_ns) * 1e-9, interval.events});
        auto series = assess_series(*setup.table, moments, assessment);
        if (!series) return pass_on(series);
        tree.series = std::move(*series);
    }
    if (!counted.by_cpu.empty()) {
        auto cores = cores_of(setup, counted, assessment, pmu);
        if (!cores) return pass_on(cores);
        tree.per_core = std::move(*cores);
    }
    return tree;
}

void add_tree(Tree tree, record::Run& run) {
    run.metrics = std::move(tree.metrics);
    run.events.insert(run.events.end(), tree.events.begin(), tree.events.end());
    if (!tree.series.is_null()) run.extra["series"] = std::move(tree.series);
    if (!tree.per_core.is_null()) run.extra["per_core"] = std::move(tree.per_core);
}

}  // namespace tmaprobe::experiments
