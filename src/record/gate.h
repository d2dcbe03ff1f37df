#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"

namespace tmaprobe::record {

/// A value, and the interval that it is in with 95% confidence.
struct Estimated {
    double value = 0, low = 0, high = 0;
};

/// What a function or a line costs in a run.
struct CodeCost {
    std::string module;       ///< name of the file, without folders; empty: code that was made while the program ran
    std::string function;     ///< empty: not known
    std::string file;         ///< of the source, from the folder that it was run in; empty: not known
    std::uint64_t line = 0;   ///< 0: not known
    double cycles = 0;        ///< modelled
    double instructions = 0;  ///< executed, counted
};

/// What a region of the program costs in a run, with what it calls and with regions inside.
struct RegionInRun {
    std::string name;
    Estimated cycles;
    double instructions = 0;  ///< executed
};

/// A program file or library, to see whether another run had the same.
struct LoadedModule {
    std::string name;  ///< without folders
    std::string hash;  ///< of its content; empty: it could not be read
};

/// What a command costs on the modelled CPU.
struct ProgramCost {
    Estimated cycles;               ///< mean of the layouts
    std::vector<double> layouts;    ///< cycles with each layout of memory
    double instructions = 0;        ///< executed in user mode, counted
    double instructions_again = 0;  ///< of a second run
    double simulated = 0;           ///< instructions, in each layout
    std::uint64_t windows = 0;
    std::uint64_t clock_reads = 0;           ///< how often it asked for the time
    std::vector<CodeCost> functions, lines;  ///< the most cycles first
    std::vector<RegionInRun> regions;        ///< in the order in which they were first begun
    std::vector<LoadedModule> modules;       ///< the program first
    std::vector<double> measured_ns;         ///< runs by the clock: a second opinion
};

enum class GateVerdict { passed, faster, slower, not_judged };

/// What moved from one run to another, in shares of the cost before.
struct CostMove {
    CodeCost code;                 ///< as it is now; one that is gone: as it was
    double before = 0, after = 0;  ///< cycles
    double share = 0;              ///< change, of all cycles before
};

/// How a region's cost compares with that of the baseline.
struct RegionChange {
    std::string name;
    GateVerdict verdict = GateVerdict::not_judged;  ///< the interval is too wide
    double before = 0, after = 0;                   ///< cycles
    Estimated change;                               ///< 0.02 is slower by 2%
};

/// How a cost compares with that of the baseline.
struct GateResult {
    GateVerdict verdict = GateVerdict::not_judged;
    std::string reason;                           ///< why it is not judged
    double fail_above = 0;                        ///< what is allowed
    std::optional<Estimated> change;              ///< of the cycles: 0.02 is slower by 2%
    std::optional<double> instructions;           ///< change of their number
    std::optional<double> measured;               ///< change of the time by the clock, medians; it decides nothing
    std::vector<double> layouts;                  ///< change in each layout
    std::vector<CostMove> functions, lines;       ///< that moved, the most first
    std::vector<std::string> appeared, vanished;  ///< functions
    std::vector<RegionChange> regions;            ///< that both have
    std::vector<std::string> regions_appeared, regions_vanished;
    std::vector<std::string> notes;
    double baseline_cycles = 0;
};

/// A cost that the baseline had before.
struct CostPoint {
    std::string started;  ///< ISO 8601, UTC
    std::string label;    ///< what the user calls that state: a commit
    double cycles = 0;
    std::string tool;  ///< version
};

/// What `tmaprobe gate` keeps and finds.
struct Gate {
    std::vector<std::string> command;
    std::string architecture;
    std::string model;  ///< what its costs depend on besides the program (model::model_stamp()); empty: not kept
    std::uint64_t layouts = 0, seed = 0;
    std::string label;
    bool marks = false;                         ///< the program's marks were listened to
    std::vector<std::string> region_functions;  ///< as the user named those that are regions
    ProgramCost cost;
    std::optional<GateResult> result;
    std::vector<CostPoint> history;  ///< the oldest first, without this one
};

}  // namespace tmaprobe::record

namespace tmaprobe {

template <>
struct Names<record::GateVerdict> {
    using enum record::GateVerdict;
    static constexpr std::array<std::pair<record::GateVerdict, std::string_view>, 4> values{
        {{passed, "passed"}, {faster, "faster"}, {slower, "slower"}, {not_judged, "not_judged"}}};
};

}  // namespace tmaprobe
