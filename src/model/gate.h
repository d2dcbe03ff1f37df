#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "model/region_wish.h"
#include "process/mappings.h"
#include "record/record.h"

namespace tmaprobe::model {

/// What an instruction costs in a whole run.
struct InstructionCost {
    double executions = 0;  ///< counted, not estimated
    double cycles = 0;      ///< over the layouts: the mean
};

/// What a region of it costs, with what it calls and with regions inside.
struct RegionShare {
    std::string name;
    double instructions = 0, cycles = 0, standard_error = 0;
};

/// What a command costs on a CPU.
struct ProgramCost {
    std::uint64_t instructions = 0;            ///< executed, in user mode
    std::uint64_t instructions_again = 0;      ///< of a second run
    std::uint64_t simulated_instructions = 0;  ///< of these, in each layout
    std::size_t windows = 0;
    double cycles = 0;                              ///< over the layouts: the mean
    double standard_error = 0;                      ///< of the cycles: of taking windows for the whole
    std::vector<double> layouts;                    ///< cycles with each layout
    std::map<std::uint64_t, InstructionCost> code;  ///< by address
    std::vector<RegionShare> regions;               ///< in the order in which they were first begun
    std::vector<process::CodeMapping> mappings;
    std::uint64_t clock_reads = 0;  ///< how often it asked for the time
    bool started_others = false;    ///< threads or processes, which are not followed
    bool followed_to_end = true;
    std::optional<int> exit_status;
    bool translated = false;
    std::vector<record::Warning> warnings;
};

/// The instructions that a program of a gate may choose among: those that the target has, up to a level that is the
/// same on many machines, and this machine, too. "x86-64-v3", "aarch64".
std::string instructions_shown(const events::Library& library, const events::Table& target,
                               const std::string& architecture);

/// What costs on a CPU depend on besides the program: two of different stamps cannot be compared. Errors: as cost_of().
Result<std::string> model_stamp(const events::Library& library, const events::Table& target);

/// On which CPU, and in which layouts of memory, which follow from the seed.
struct CostQuestion {
    const events::Library& library;
    const events::Table& target;
    std::string architecture;
    int layouts = 4;
    std::uint64_t seed = 1;
    RegionWish regions{};
};

/// Runs a command twice under the tracer: counts the instructions that it executes, and simulates windows of them, each
/// layout on a thread of its own. Errors: unavailable where the model does not cover the CPU, or this build has no
/// model; those of trace::start_fixed().
Result<ProgramCost> cost_of(const std::vector<std::string>& command, const CostQuestion& question);

}  // namespace tmaprobe::model
