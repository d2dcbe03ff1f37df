#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "experiments/run.h"
#include "experiments/source_choice.h"
#include "kernels/kernel.h"
#include "machine/host.h"
#include "machine/topology.h"
#include "metrics/evaluate.h"
#include "model/this_machine.h"

namespace tmaprobe::experiments {

/// All that is decided before anything runs, and stays the same for every run of one request.
struct Setup {
    machine::Host host;
    machine::Topology topology;
    std::optional<events::Table> table;  ///< of the target; empty: this CPU has none, only time is measured
    bool target_is_host = false;
    int level = 1;                     ///< of the tree, as it was asked for
    metrics::Constants constants;      ///< what the formulas ask of the machine
    std::vector<std::string> metrics;  ///< names of the metrics wanted
    int levels_to_be_had = 0;          ///< of the tree, from the decided sources
    Decision decision;
    std::vector<counters::PmuLimits> pmu_limits;  ///< of this machine, where they were probed already
    CpuSums cpu_sums = CpuSums::core;             ///< how counts of CPUs are put together
    std::vector<std::string> cgroups;             ///< the names of those that are told apart
    model::ThisMachine machine;                   ///< where it is the target and is modelled
    std::vector<record::Warning> warnings;
};

/// Target, tables, metrics and sources for a request. Errors: bad_usage for an unknown target, level or
/// metric; bad_input for an unreadable table; those of decide_source.
Result<Setup> set_up(const CountingRequest& request, const machine::Host& host, const machine::Topology& topology);

/// The same for a whole run, whose words are looked at first. Errors: besides those, bad_usage for an unknown kernel
/// and for metrics of the machine beside one.
Result<Setup> set_up_run(const RunRequest& request, const machine::Host& host, const machine::Topology& topology);

/// What has been set up, run. Errors: as the run() that sets up.
Result<record::Record> run(const RunRequest& request, const Setup& setup, const OnProgress& on_progress);

/// What the formulas ask of this machine: "#smt_on", "#core_wide", "#num_cpus", "#slots", ... "#core_wide" is
/// 1 where the counts are those of whole cores.
metrics::Constants machine_constants(const machine::Host& host, const machine::Topology& topology,
                                     const counters::Scope& scope);

/// The tree nodes down to level `shown` whose children lie deeper, each with the level of its first child:
/// what a report may suggest to look into.
std::map<std::string, int> deeper_levels(const events::Table& table, int shown);

/// A record with host, command line, tables and source filled in, and no runs yet.
record::Record start_record(const std::string& command_line, const Setup& setup);

}  // namespace tmaprobe::experiments
