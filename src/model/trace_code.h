#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "model/what_if.h"
#include "process/mappings.h"
#include "trace/trace.h"

namespace tmaprobe::model {

class TraceFile;

/// All instructions of a trace's windows, each once. Errors: those of TraceFile::show() and make_decoder().
Result<std::vector<TracedInstruction>> executed_instructions(const TraceFile& trace);

/// Which instructions of a window some code is.
class ChosenCode {
  public:
    explicit ChosenCode(std::vector<CodeInFile> code) : code_(std::move(code)) {}
    explicit operator bool() const { return !code_.empty(); }
    /// By number, of a window of a process with these mappings; null: not known. They are `number`, which tells one
    /// from the next.
    const std::vector<std::uint8_t>& among(const std::vector<trace::StaticInstruction>& instructions,
                                           const std::vector<process::MemoryMapping>* mappings, std::uint32_t number);

  private:
    std::vector<CodeInFile> code_;
    std::unordered_set<std::uint64_t> addresses_;
    std::vector<std::uint8_t> flags_;
    std::uint32_t number_ = 0;
    bool placed_ = false;
};

}  // namespace tmaprobe::model
