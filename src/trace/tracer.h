#pragma once

#include <functional>
#include <unordered_map>

#include "trace/trace.h"
#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// What a stretch of tracing met besides instructions.
struct Traced {
    std::size_t steps = 0;
    std::size_t undecodable = 0;  ///< ends at instructions that the disassembler does not know
    std::size_t stepped_in_software = 0;
    bool ended = false;                         ///< the thread ended meanwhile, or on_system_call ended the trace
    bool code_changed = false;                  ///< the code was rewritten while it ran
    EndedEarly ended_early = EndedEarly::none;  ///< the thread stands before what cannot be followed
};

/// Records the instructions that the stopped thread of a process executes, one at a time.
class Tracer {
  public:
    /// `software_always`: executes in software what it can, even if the processor could.
    Tracer(TracedProcess& process, Decoder& decoder, bool software_always);

    /// Appends up to `count` executed instructions to `trace`. Signals meant for the thread are delivered.
    /// Errors: unavailable for 32-bit code; system when the thread cannot be stepped.
    Result<Traced> trace(std::size_t count, Trace& trace);

    /// Asked before a system call is executed, with the thread's registers. Without it all are carried out.
    enum class CallAnswer { carry_out, answered, end };
    std::function<CallAnswer(TracedProcess&, Registers&)> on_system_call;

    /// What the thread is to see as the time stamp counter (x86); without it the machine's.
    std::function<std::uint64_t()> time_stamp;

    /// Changes what the thread is to see of a cpuid (x86), given its registers before and after that.
    std::function<void(const Registers& before, Registers& after)> on_cpuid;
    /// The same of an xgetbv.
    std::function<void(const Registers& before, Registers& after)> on_xgetbv;

    /// Whether the tracer executes this instruction instead of the processor.
    bool steps_in_software(const StaticInstruction& instruction) const;

    /// The instruction in memory at an address, from the cache if its bytes were read before.
    StaticInstruction decode_at(std::uint64_t address);
    StaticInstruction decode(const std::uint8_t* bytes, std::size_t available, std::uint64_t address);

  private:
    /// The number of the instruction at an address, as it is now.
    std::uint32_t known(std::uint64_t address, Trace& trace, bool& changed);
    Result<> hide_trap_flag(const StaticInstruction& instruction);
    Result<> show_time_stamp(const StaticInstruction& instruction);
    Result<> show_cpuid(const StaticInstruction& instruction, const Registers& before);

    TracedProcess& process_;
    Decoder& decoder_;
    bool software_always_;
    const Trace* indexed_ = nullptr;  ///< which trace `index_` belongs to
    std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

}  // namespace tmaprobe::trace
