#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "judge/rank_test.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// One metric in both runs, as fractions like in the record.
struct MetricChange {
    record::ComparedMetric metric;
    record::MetricUnit unit = record::MetricUnit::none;
};

/// Two runs side by side, with all that a judgement rests on; a record keeps record::Comparison of it.
struct RunComparison {
    std::string before, after;  ///< how the two are called: "4k" and "2m", or file names
    std::string subject;        ///< what both ran: "chase, 16M, 4k pages"; may be empty
    bool timed = false;         ///< both have a time
    bool enough = false;        ///< both have three clean repetitions at least: only then is there a ratio
    std::string disturbed;      ///< which side has too few because of what; empty where nothing was disturbed
    Ratio time;                 ///< ns per operation, after / before; 1 where there are not enough
    double before_ns = 0, after_ns = 0;
    std::size_t before_repetitions = 0, after_repetitions = 0;  ///< that the times were compared by
    std::string operation;
    std::vector<MetricChange> metrics;   ///< those that both have with the same status
    std::vector<std::string> sentences;  ///< time first, then the largest change in the tree and in translation
    std::vector<std::string> notes;      ///< why something was not compared
};

/// Differences with their confidence. Times are compared by the clean repetitions, and not at all where one side has
/// fewer than three of them; a record that keeps only statistics by their intervals.
RunComparison compare_runs(const record::Run& before, const record::Run& after, const std::string& before_name,
                           const std::string& after_name);

/// Each further page mode against the first, put into the record's extra.comparison; nothing for
/// records with one run.
void compare_page_modes(record::Record& record);

/// Runs of two records, matched by kernel, variant, parameters and page mode. Errors: bad_usage when one
/// has no counterpart, naming what differs; with `different`, runs are taken in their order instead.
/// bad_input when there is nothing to compare.
Result<std::vector<RunComparison>> compare_records(const record::Record& before, const record::Record& after,
                                                   const std::string& before_name, const std::string& after_name,
                                                   bool different);

/// What a record and reports have of it.
record::Comparison summary_of(const RunComparison& comparison);

/// Whether the times can be told apart from noise at all: both are there, with enough repetitions on each side for a
/// 95% interval, and these were not disturbed.
bool can_judge(const RunComparison& comparison);

/// Why not, in a few words; empty when it can be judged.
std::string why_not_judged(const RunComparison& comparison);

/// Slower by more than this share, and certainly so: the whole interval lies above 1 + share, and it can be judged.
bool slower_than(const RunComparison& comparison, double share);

}  // namespace tmaprobe::judge
