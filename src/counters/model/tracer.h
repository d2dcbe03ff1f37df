#pragma once

#include <unordered_map>

#include "counters/model/trace.h"
#include "counters/model/traced_process.h"

namespace tmaprobe::counters::model {

/// What a stretch of tracing met besides instructions.
struct Traced {
    std::size_t steps = 0;
    std::size_t undecodable = 0;       ///< executed instructions that the disassembler does not know
    std::size_t stepped_in_software = 0;
    bool ended = false;                ///< the thread ended meanwhile
    bool code_changed = false;         ///< the code was rewritten while it ran
};

/// Records the instructions that the stopped thread of a process executes, one at a time.
class Tracer {
  public:
    /// `software_always`: executes in software what it can, even if the processor could.
    Tracer(TracedProcess& process, Decoder& decoder, bool software_always);

    /// Appends up to `count` executed instructions to `trace`. Signals meant for the thread are delivered.
    /// Errors: unavailable for 32-bit code; system when the thread cannot be stepped.
    Result<Traced> trace(std::size_t count, Trace& trace);

    /// Whether the tracer executes this instruction instead of the processor.
    bool steps_in_software(const StaticInstruction& instruction) const;

    /// The instruction in memory at an address, from the cache if its bytes were read before.
    StaticInstruction decode_at(std::uint64_t address);

  private:
    std::uint32_t known(std::uint64_t address, Trace& trace);
    bool code_changed(const Trace& trace, std::size_t first_instruction);

    TracedProcess& process_;
    Decoder& decoder_;
    bool software_always_;
    const Trace* indexed_ = nullptr;  ///< which trace `index_` belongs to
    std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

}  // namespace tmaprobe::counters::model
