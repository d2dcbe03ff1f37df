#pragma once

// What a core does between a branch that it foretold wrong and the moment at which it knows.

#include <cstdint>
#include <span>
#include <vector>

#include "model/core/simulate.h"
#include "model/core/trace_descriptors.h"

namespace tmaprobe::model::core {

/// Loads of a wrong path that bring what the right path asks for later: both soon come to the same code again (the end
/// of an `if`, the next turn of a loop), and what is loaded from there on is often the same, whichever way the branch
/// went. A trace has the right path only; the wrong one is taken to be what was executed when the same branch last went
/// that way. Loads whose addresses come from a register that either way wrote on its own, or that is not known in time,
/// are left out.
class WrongPath {
  public:
    WrongPath(const CoreParameters& parameters, const trace::Trace& trace, MemoryTiming& memory,
              TraceDescriptors& descriptors);
    /// The conditional branch of this step was executed.
    void note(std::size_t step, bool taken);
    /// The branch of this step was foretold wrong: renamed in one cycle, known to be wrong in another. `ready`: when
    /// each unit has the value that the branch's own path sees; those after the last are of no instruction met so far.
    void follow(std::size_t step, bool taken, std::uint64_t renamed, std::uint64_t resolved,
                std::span<const std::uint64_t> ready);

  private:
    struct Meeting {
        std::size_t wrong = 0, right = 0;  ///< instructions after the branch, on each way
        bool found = false;
    };
    Meeting find_meeting(std::size_t wrong, std::size_t right, std::size_t most);
    void forget_written(std::size_t from, std::size_t count);
    /// One step of both paths, which loads from `address`, if anything, supplied in this cycle.
    void execute(const InstructionDescriptor& what, std::uint64_t address, std::uint64_t supplied,
                 std::uint64_t resolved);

    const CoreParameters& parameters_;
    const trace::Trace& trace_;
    MemoryTiming& memory_;
    TraceDescriptors& descriptors_;
    std::vector<std::size_t> went_;      ///< by branch and way: the step after it, when it last went there
    std::vector<std::uint64_t> met_at_;  ///< by instruction: search, and place on the wrong path
    std::uint64_t searches_ = 0;
    std::vector<std::uint64_t> ready_;  ///< of each unit
};

}  // namespace tmaprobe::model::core
