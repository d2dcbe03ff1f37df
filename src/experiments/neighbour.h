#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "experiments/kernel_run.h"
#include "experiments/run.h"
#include "experiments/setup.h"
#include "process/child.h"
#include "record/record.h"

namespace tmaprobe::experiments {

struct InterferenceRequest;

/// One side of an interference experiment, ready to run: a kernel at its place, or a command.
struct Subject {
    RunRequest request;
    Setup setup;
    std::optional<KernelRun> point;  ///< empty: a command
    int cpu = 0;                     ///< where a command is pinned
    std::string place;               ///< of the neighbour, seen from the victim: "l3", "smt", ...
    double seconds = 0.15;           ///< of one measurement
    std::string spec;                ///< as the user wrote it

    /// Measures it once as a record with one run; to be called in a process of its own, whose stdout goes
    /// nowhere when a command is run. Beside a neighbour a busy core and a changed clock are what is measured, and not
    /// a disturbance. Errors: those of measure_kernel and measure_command; unavailable when
    /// the command fails.
    Result<record::Record> measure(bool beside_neighbour) const;
};

struct Subjects {
    Subject victim, aggressor;
    Setup setup;  ///< the victim's
};

/// Reads both specs and puts them on CPUs: the victim on the default one, the neighbour's threads on CPUs
/// of the wanted class (or the ones its spec names); no neighbour is placed for allocations. Errors: bad_usage for
/// specs, unknown places and one CPU for both; unavailable when no CPU is so placed.
Result<Subjects> choose_subjects(const InterferenceRequest& request, const machine::Host& host,
                                 const machine::Topology& topology);

/// Owns the running neighbour; it ends when this does.
class Neighbour {
  public:
    /// Starts it, in `into_group` first, and waits until it does its work (memory in place, warmed up).
    /// Errors: those of the kernel; unavailable when it ends before that.
    static Result<Neighbour> start(const Subject& aggressor, const std::function<Result<>(pid_t)>& into_group);
    /// Errors: unavailable when it has ended meanwhile: what was measured was not beside a neighbour.
    Result<> check();

  private:
    explicit Neighbour(process::Child child) : child_(std::move(child)) {}
    process::Child child_;
};

}  // namespace tmaprobe::experiments
