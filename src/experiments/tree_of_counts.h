#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "experiments/counting.h"
#include "experiments/setup.h"
#include "judge/assess.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// What one PMU's counts say of a run.
struct Tree {
    std::vector<record::Metric> metrics;
    std::vector<record::Event> events;           ///< of this PMU and of none (software)
    std::vector<record::IntervalValues> series;  ///< none: no interval was asked for
    std::vector<record::CoreValues> per_core;    ///< none: no CPUs were counted
};

/// The tree of one PMU of a hybrid (as pmus_of() names it; "" elsewhere), over time and core by core where
/// that was counted. A core's counts are the sums over its CPUs: before Ice Lake, with SMT, slots belong to
/// the core, not to its CPUs. Errors: as assess.
Result<Tree> tree_of_counts(const Setup& setup, const Counted& counted, judge::AssessRequest assessment,
                            const std::string& pmu);

/// Counts alone by place, where no table makes metrics of them: values by the events' names.
std::vector<record::CoreValues> counts_by_place(const Setup& setup, const Counted& counted);

/// Moves it into the run, beside the events that are there already.
void add_tree(Tree tree, record::Run& run);

}  // namespace tmaprobe::experiments
