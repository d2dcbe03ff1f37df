#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/region_words.h"
#include "counters/resctrl/info.h"
#include "experiments/run.h"

namespace tmaprobe::cli {

/// What is to be run and how, in the words of the command line before they are understood.
struct RunWords {
    std::string kernel, variant, size, cpus, source = "auto", target, assume_pages, events_directory, scope_cpus;
    std::string resctrl = counters::resctrl::usual_root;
    std::vector<std::string> pages, options, metrics, events, command;
    int level = 1, threads = 1, numa_node = -1, repeat = 0, warm_up = 0, interval_ms = 0, timeout_ms = 0;
    std::vector<std::string> pids, tids;
    std::string control;
    std::optional<int> delay_ms;
    std::vector<std::string> cgroups;
    bool no_inherit = false, per_thread = false, per_cpu = false, per_socket = false, per_node = false;
    double seconds = 0, effort = 1;
    bool repeatable = false;
    std::string calibration, save_trace;
    RegionWords regions;
    bool no_calibration = false;
    bool multiplex = false, passes = false, system_wide = false, reserve_pages = false, user = false,
         kernel_mode = false;
    OutputOptions output;
};

/// Registers what a run may be given: workload, counting, output.
void add_run_options(CommandLine app, RunWords& words);

/// Errors: bad_usage for words that contradict each other or say too little; those of check_output().
Result<experiments::RunRequest> understand(const RunWords& words);

/// To be called before anything is run: keeps signals that come too early, and says where progress goes, which is
/// nowhere that disturbs anybody.
experiments::OnProgress begin_run(const experiments::RunRequest& request);

/// Runs what is asked for, with progress where it disturbs nobody. Errors: those of experiments::run().
Result<record::Record> run(const experiments::RunRequest& request);

/// Writes the record of a run where its report goes. Returns the exit status: a measured command's own, unless only
/// ours failed.
int emit_run(const record::Record& record, const RunWords& words);

}  // namespace tmaprobe::cli
