#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "model/this_machine.h"
#include "record/what_if.h"

namespace tmaprobe::model {

/// An instruction by where it lies.
struct CodeInFile {
    std::string path;          ///< of the file, "[vdso]"; empty: of none, or not known
    std::uint64_t offset = 0;  ///< in the file; of none: the address
};

/// One that a trace's windows execute.
struct TracedInstruction {
    CodeInFile place;
    std::uint64_t address = 0;  ///< in the trace
    std::array<std::uint8_t, 16> bytes{};
    std::uint8_t length = 0;
    double share = 0;  ///< of the executed instructions, in time
};

/// Some changes, all at once.
struct WhatIfQuestion {
    std::vector<record::Change> changes;
    std::uint64_t prefetch_distance = 0;  ///< of record::Change::prefetched
    std::string code_name;                ///< as the user calls the chosen code; empty: none is
    std::vector<CodeInFile> code;
};

/// What to ask of a trace.
struct WhatIfQuestions {
    std::vector<WhatIfQuestion> answers;
    bool mappings = false;  ///< where pages_2m is asked and wins anything: large pages for single mappings
    bool shares = false;    ///< how the main causes share what removing them all would win
    bool targets = false;   ///< how fast the trace is on every CPU of its architecture
    /// What the region wins that was asked about when the trace was taken, and no other code; empty: all of it.
    std::string region{};
};

/// On which CPU a trace is simulated as it is, and with changes.
struct WhatIfCpu {
    const events::Library& library;
    const events::Table& table;
    ThisMachine machine;
};

/// Simulates a saved trace on a CPU as it is and with the changes, on so many threads of this process. The answers come
/// in the order of the questions; speeds of other CPUs are those of the tables alone. Errors: bad_input for a file that
/// is no trace, is damaged or of another architecture; bad_usage for a change that the CPU does not know; unavailable
/// where the model does not cover the CPU, or this build has no model.
Result<record::WhatIf> what_if(const std::string& trace_file, const WhatIfCpu& cpu, const WhatIfQuestions& questions,
                               unsigned threads);

/// All instructions of a trace's windows, each once. Errors: bad_input as what_if(); unavailable in a build without
/// model.
Result<std::vector<TracedInstruction>> traced_instructions(const std::string& trace_file);

}  // namespace tmaprobe::model
