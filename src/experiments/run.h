#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/plan.h"
#include "counters/scope_detail.h"
#include "counters/source.h"
#include "events/table.h"
#include "experiments/progress.h"
#include "kernels/kernel.h"
#include "machine/host.h"
#include "machine/topology.h"
#include "record/record.h"

namespace tmaprobe::experiments {

enum class SourceChoice { automatic, perf, model, none, perf_and_model };

/// What to run: a kernel, a command, or nothing, where what runs already is counted.
struct WorkloadRequest {
    std::string kernel;                ///< empty: a command
    std::vector<std::string> command;  ///< argv; empty: a kernel
    std::string variant;               ///< empty: the best that the CPU can run
    std::uint64_t size_bytes = 0;      ///< 0: the kernel's default
    std::vector<std::string> pages;    ///< page modes, each gives one Run; empty: the kernel's default
    int threads = 1;
    std::vector<int> cpus;  ///< empty: chosen from the topology
    std::optional<int> numa_node;
    std::map<std::string, std::string> options;  ///< the kernel's own
    bool reserve_pages = false;                  ///< huge pages that are missing are reserved for the run (root)
};

/// What `tmaprobe calibrate` found of this machine, for the model.
struct CalibrationChoice {
    bool use = true;
    std::string file;  ///< empty: the one of this CPU in the user's cache folder, if it is there
    /// Where there is none, and a host may give this virtual machine less than CPUID says: memory_here().
    bool measure_memory_here = false;
    std::function<bool()> interrupted = {};  ///< asked while that is measured
};

/// Called with each interval of a run as soon as it is over: seconds since the run began, the metrics of what was
/// counted in it (none where no table makes any), and the counts.
using OnInterval = std::function<void(double at_seconds, const std::vector<record::Metric>& metrics,
                                      const std::vector<record::Event>& events)>;

/// By what counts are shown apart: of whole CPUs, or of threads, or of control groups.
enum class CpuSums { core, cpu, socket, node, thread, cgroup };

/// Which regions of a command are told apart.
struct RegionRequest {
    enum class Marks { if_there, listen, ignore };
    Marks marks = Marks::if_there;       ///< if_there: of a program whose own file has marks
    std::vector<std::string> functions;  ///< SYMBOL or FILE:SYMBOL, as the user wrote it
};

/// How to count: whose events, from which source, and what is made of them.
struct CountingRequest {
    int level = 1;
    std::vector<std::string> metrics;         ///< beyond the tree; "tlb" = the translation metrics
    std::vector<std::string> events;          ///< -e, each as it was given: one or several, or a group in braces
    std::vector<std::string> system_metrics;  ///< of the machine, not of a core: "power", ...
    CpuSums cpu_sums = CpuSums::core;
    SourceChoice source = SourceChoice::automatic;
    std::string target;        ///< empty: the host's CPU
    std::string assume_pages;  ///< model only
    counters::Policy policy = counters::Policy::passes;
    counters::Scope scope;
    bool count_user = true, count_kernel = false;
    int interval_ms = 0;           ///< 0: no series
    OnInterval on_interval;        ///< may be empty
    counters::ScopeDetail detail;  ///< whose counts of the scope, and when
    double seconds = 0;            ///< for which processes are looked at; 0: until they end, or a signal comes
    bool attribute = false;        ///< say which places in the code take the slots (RunExtra::where)
    std::string attribute_in;      ///< only what the slots of this region go to; empty: all
    bool repeatable = false;       ///< model a run of its own, the same each time
    std::string save_trace;        ///< file for what is simulated; empty: none
    std::string trace_workload;    ///< as its header names it
    double effort = 1;             ///< how much more than usual the model's samples may cost
    RegionRequest regions;
    std::vector<std::string> region_program;  ///< the command that has them; empty: none was started
    CalibrationChoice calibration;            ///< model only
    events::Library library;
    /// Something is asked for that only the model can tell.
    bool needs_model() const { return attribute || !save_trace.empty() || !regions.functions.empty(); }
    /// The option that only counting can follow: the model looks at all that a command or a process does. Empty: none.
    std::string counting_option() const;
    std::filesystem::path resctrl_root;  ///< where resctrl's monitors are read, if it is there; empty: they are not
};

/// How to repeat.
struct RepeatRequest {
    int repetitions = 0;  ///< 0: a kernel's are chosen by the spread; a command runs once
    int warm_up = 0;      ///< runs of a command before those that are measured
};

/// What to measure and how; filled in by the command line, complete by itself.
struct RunRequest {
    WorkloadRequest workload;
    CountingRequest counting;
    RepeatRequest repeat;
    std::string command_line;  ///< for the record
};

/// Runs it: timing always, then counts from the chosen source, evaluated into the record's metrics.
/// A command's own exit status comes back in Record::extra["exit_status"].
Result<record::Record> run(const RunRequest& request, const machine::Host& host, const machine::Topology& topology,
                           const OnProgress& on_progress);

}  // namespace tmaprobe::experiments
