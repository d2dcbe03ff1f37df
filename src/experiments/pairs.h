#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiments/progress.h"
#include "experiments/run.h"
#include "machine/topology.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Which pairs, and what they do to one another.
struct PairsRequest {
    std::string kernel = "atomic";               ///< or "pingpong"
    std::map<std::string, std::string> options;  ///< the kernel's own
    std::vector<int> cpus;                       ///< empty: all that this process may use
    bool one_per_class = false;
    int repetitions = 0;  ///< 0: until the median is tight
    events::Library library;
    std::string command_line;
};

/// Two CPUs and how far they are apart.
struct Pair {
    int first = 0, second = 0;
    std::string distance;  ///< of machine::pair_class, with core types where a machine has several: "l3 P-E"
};

/// Distances, nearest first: "smt", "l2", "l3", "package", "two-packages", then NUMA nodes by distance.
bool nearer(const std::string& one, const std::string& other);

/// The pairs to measure, by distance and CPU numbers; each once. Errors: bad_usage for fewer than two
/// CPUs named, a CPU twice or one that does not exist or is offline; no_permission outside the cpuset;
/// unavailable when this process has but one CPU.
Result<std::vector<Pair>> choose_pairs(const PairsRequest& request, const machine::Topology& topology);

/// Times the kernel with these options on these CPUs, one thread each.
using MeasureOnCpus =
    std::function<Result<record::Run>(const std::vector<int>& cpus, const std::map<std::string, std::string>& options)>;

struct PairsHooks {
    OnProgress on_progress;
    std::function<bool()> interrupted;  ///< asked between pairs
};

/// Measures one thread alone (for `atomic`, with and without the lock) and all pairs, and writes matrix,
/// classes and CPI into record.extra.pairs:
///  - coherency time of a class = its median - the baseline; the baseline is the median of the SMT pairs,
///    or one thread alone with the lock where no two CPUs share a core (or none of such pairs was measured);
///  - coherency cycles = coherency time x core clock measured beside the repetitions;
///  - CPI(f) = 2.0 + f x coherency cycles for f = 0 to 2% (share of instructions that meet it).
/// `record.runs` gets the lone threads and the first pair of each class. Interrupted: record.partial.
/// Errors: those of the first measurement.
Result<> measure_pairs(const PairsRequest& request, const std::vector<Pair>& pairs, const MeasureOnCpus& measure,
                       const PairsHooks& hooks, record::Record& record);

/// The whole experiment. Errors: those of choose_pairs and measure_pairs.
Result<record::Record> pairs(const PairsRequest& request, const machine::Host& host, const machine::Topology& topology,
                             const PairsHooks& hooks);

}  // namespace tmaprobe::experiments
