#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "counters/model/code_emitter.h"
#include "counters/model/tracer.h"

namespace tmaprobe::counters::model {

/// Called for each executed instruction, in order.
using OnStep = std::function<void(const StaticInstruction& instruction, const Step& step)>;

/// Traces at near native speed: copies the program's code, block by block as it is reached, into an area of
/// its own in the traced process, with code between that notes which block ran and which addresses it
/// touched. What cannot be copied (system calls, what the processor lacks, ...) is executed in place, one
/// step at a time. Registers, flags, stack and memory of the program stay as they would have been.
/// x86-64 only; elsewhere, and where the process may not map executable memory, steps() falls back to
/// the Tracer.
class Translator {
  public:
    Translator(TracedProcess& process, Tracer& tracer);

    /// Executes about `count` instructions of the stopped thread (up to a block more). Errors: as Tracer.
    Result<Traced> steps(std::size_t count, const OnStep& on_step);

    /// Numbered by Step::instruction.
    const std::vector<StaticInstruction>& instructions() const { return instructions_; }
    bool translates() const { return area_ != 0 && !refused_; }

    static constexpr std::uint32_t longest_block = 64;  ///< instructions

  private:
    struct Block {
        std::uint64_t start = 0, code = 0;
        std::uint32_t first = 0, count = 0;  ///< in block_instructions_
        std::uint32_t entries = 0;           ///< that its execution leaves in the trace, its number included
        std::uint32_t in_software = 0;       ///< of them, what the processor lacks and a routine does
    };
    /// What a stop in the area means.
    struct Trap {
        enum class Kind { no_blocks_left, untranslated, in_place, unknown_target, fault } kind = Kind::untranslated;
        std::uint64_t target = 0;  ///< fault: where in the area
        std::uint64_t patch = 0;  ///< becomes a jump to the target's code; 0: not
        int signal = 0;           ///< fault: that it brought about
    };
    /// Whose part an access in the area is.
    struct Original {
        std::uint64_t address = 0;
        std::uint32_t block = 0, index = 0;  ///< of the instruction in its block
        CodeEmitter::Access access;
    };

    /// steps() until the count, the thread's end, or its move to another address space.
    Result<Traced> stretch(std::size_t count, const OnStep& on_step);
    /// Starts anew when the thread's memory is another than that which has the area.
    void settle();
    Result<> map_area();
    /// The stopped thread may be of another process than last time, or its process may have executed another
    /// program: then the area is a copy that has to be made new, or not there.
    void check_area();
    bool area_is_there() const;
    Result<std::uint64_t> code_for(std::uint64_t address);
    bool copyable(const StaticInstruction& instruction) const;
    void emit_block(std::uint64_t start, CodeEmitter& emitter);
    void emit_instruction(const StaticInstruction& instruction, CodeEmitter& emitter);
    void emit_branch(const StaticInstruction& branch, CodeEmitter& emitter);
    void emit_indirect_target(const StaticInstruction& branch, CodeEmitter& emitter);
    void exit_to(std::uint64_t target, Trap::Kind kind, CodeEmitter& emitter);
    std::uint32_t number_of(std::uint64_t address);
    Result<> enter(std::uint64_t address);
    Result<> leave(std::uint64_t address);
    /// Replays what was noted since the last time and adds it to the sums; of the last block only what is before
    /// `faulting`, if that is given.
    void drain(const OnStep& on_step, Traced& sums, const Original* faulting = nullptr);
    /// Gives the program the signal that an instruction of its own brought about, as if it had met it there. Where
    /// it goes on. Errors: unavailable when the instruction is not one of its own.
    Result<std::uint64_t> deliver_fault(const Trap& fault, const OnStep& on_step, Traced& traced);
    std::size_t replay(const Block& block, const std::uint64_t*& entry, const std::uint64_t* end, std::uint32_t count,
                       const OnStep& on_step);
    Result<Traced> step_in_place(const OnStep& on_step);
    void deliver(const Trace& trace, const OnStep& on_step);
    Result<Traced> step_only(std::size_t count, const OnStep& on_step);
    Result<Trap> run_to_trap(Traced& traced);
    bool code_changed();
    /// Memory that is writable and executable at once, as of some just-in-time compilers.
    bool rewritable(std::uint64_t address);
    /// Forgets every copy of code.
    void drop_blocks();
    /// drop_blocks(), and the area empty again.
    void forget();

    TracedProcess& process_;
    Tracer& tracer_;
    bool refused_ = false;
    bool stale_ = false;  ///< the code that was copied has changed since
    std::pair<pid_t, std::size_t> home_;  ///< the address space that has the area
    std::uint64_t area_ = 0, code_next_ = 0;
    pid_t process_of_area_ = -1;
    std::uint64_t lookup_ = 0, routine_ = 0, own_gs_ = 0, fs_ = 0;
    std::vector<StaticInstruction> instructions_;
    std::unordered_map<std::uint64_t, std::uint32_t> number_at_;
    std::vector<std::uint32_t> block_instructions_;
    std::vector<Block> blocks_;
    std::unordered_map<std::uint64_t, std::uint32_t> block_at_;
    std::unordered_map<std::uint64_t, Trap> traps_;  ///< by the address at which the thread stops
    std::unordered_map<std::uint64_t, Original> accesses_;  ///< by address in the area
    std::vector<std::uint64_t> buffer_;
    std::vector<int> held_signals_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rewritable_;
    bool maps_known_ = false;
};

}  // namespace tmaprobe::counters::model
