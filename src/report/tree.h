#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::report {

/// One metric of the tree in the order in which it is shown.
struct TreeRow {
    const record::Metric* metric = nullptr;
    int depth = 0;  ///< 0: no parent among the metrics
};

/// The metrics with a level, each below its parent, in the record's order among siblings. Every one is
/// there exactly once, whatever the parents say.
std::vector<TreeRow> tree_rows(const std::vector<record::Metric>& metrics);

/// Whether a row says anything: no node below level 1 that is nothing, and whose upper bound is nothing too. What is
/// marked, flagged or has no value does.
bool is_telling(const record::Metric& metric);

/// The telling rows and those above them; the names of the others go to `left_out`.
std::vector<TreeRow> telling_rows(const std::vector<TreeRow>& rows, std::vector<std::string>& left_out);

/// The metrics without a level, translation first.
std::vector<const record::Metric*> other_metrics(const std::vector<record::Metric>& metrics);

/// The run's metric of that name, or null.
const record::Metric* find_metric(const record::Run& run, const std::string& name);

/// Whether it counts what translation did, where the run has a rate of the same kind: counts of runs of different
/// lengths say nothing side by side.
bool is_bare_count(const record::Run& run, const record::Metric& metric);

/// The metrics of runs side by side: the tree's rows first, then translation, then the rest. Without `left_out` all of
/// them; with it no bare counts, and those that are nothing in every run are only named there.
std::vector<TreeRow> compared_rows(const std::vector<record::Run>& runs, std::vector<std::string>* left_out);

/// The deepest node on the marked path, or null when none is marked.
const record::Metric* bottleneck(const std::vector<record::Metric>& metrics);

/// Whether the runs differ in nothing but the pages: the same work, side by side.
bool differ_in_pages_only(const std::vector<record::Run>& runs);

/// "2m", or "2m (4k obtained)" where the kernel gave other pages than asked for. Empty without pages.
std::string pages_label(const record::Run& run);

/// "sha256 shani, size 16M, threads 2": what the run was, without its pages.
std::string run_label(const record::Run& run);

}  // namespace tmaprobe::report
