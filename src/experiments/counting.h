#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "counters/source.h"
#include "experiments/progress.h"

namespace tmaprobe::experiments {

/// One run of a command.
struct CommandRun {
    double elapsed_ns = 0;
    double user_ns = 0, system_ns = 0;  ///< processor time of the command and the children that it waited for
    std::optional<counters::TracedTime> traced;
    int exit_status = 0;  ///< as a shell gives it: 128 + signal
    bool interrupted = false;
};

/// All passes of a plan, measured some times and put together.
struct Counted {
    record::Source source;
    std::vector<record::Event> events;  ///< summed over the repetitions, one entry per event and group
    std::vector<std::vector<record::Event>> repetitions;  ///< the same events, each repetition for itself
    std::vector<std::vector<record::Event>> variations;   ///< the model's; see counters::Sample
    std::map<int, std::vector<record::Event>> by_cpu;     ///< the same events on each CPU, where CPUs are counted
    std::vector<counters::Interval> series;               ///< of the first run, when an interval was asked for
    std::vector<counters::SampledLatency> latencies;      ///< of all runs
    double elapsed_ns = 0;                                ///< of all runs of the workload
    std::vector<CommandRun> runs;                         ///< a command's, one for each pass and repetition
    std::optional<record::PerfDetail> perf;               ///< of the last run
    std::optional<record::ModelDetail> model;
    std::optional<counters::SlotAttribution> attribution;
    std::optional<counters::RegionSamples> regions;
    std::vector<record::Warning> warnings;
    bool nothing_seen = false;  ///< by the source, of any run
};

/// Counts of the same events added up: raw and times, and the scaled values with their bounds. A set in which an
/// event never had a counter lowers its share and widens its bounds; it is "not_counted" only if it never had one.
std::vector<record::Event> sum_of(const std::vector<std::vector<record::Event>>& sets);

/// What regions counted in a further run of the program, which may count other events: the same regions are those of
/// the same name. Times and entries are those of the last run, shares the mean of all `runs` with this one.
void add_regions(counters::RegionSamples more, std::size_t runs, std::optional<counters::RegionSamples>& sum);

/// Runs the workload as often per repetition as the source says (CounterSource::runs_of); no more once a signal has
/// ended a command. Errors: those of the source.
Result<Counted> count(counters::CounterSource& source, counters::Workload& workload, const counters::Plan& plan,
                      std::uint64_t iterations, int repetitions, const OnProgress& on_progress);

}  // namespace tmaprobe::experiments
