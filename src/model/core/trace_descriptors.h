#pragma once

// The descriptors of a trace's instructions, each asked for once.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/core/descriptor.h"

namespace tmaprobe::model::core {

/// What is the same in every window: descriptors of the trace's instructions.
class Descriptors {
  public:
    virtual ~Descriptors() = default;
    virtual const InstructionDescriptor& get(const trace::StaticInstruction& instruction, bool fused) = 0;
};

/// Those of one trace, by its steps. Both must outlive it.
class TraceDescriptors {
  public:
    TraceDescriptors(Descriptors& descriptors, const trace::Trace& trace)
        : descriptors_(descriptors), trace_(trace), seen_(2 * trace.instructions.size(), nullptr) {}

    const InstructionDescriptor& at(std::size_t step, bool fused = false) {
        const std::uint32_t number = trace_.steps[step].instruction;
        const InstructionDescriptor*& seen = seen_[2 * number + (fused ? 1 : 0)];
        if (!seen) seen = &met(number, fused);
        return *seen;
    }
    /// One more than the highest unit of those that were asked for.
    std::size_t units() const { return units_; }

  private:
    const InstructionDescriptor& met(std::uint32_t number, bool fused) {
        const InstructionDescriptor& what = descriptors_.get(trace_.instructions[number], fused);
        for (const Use& use : what.uses) units_ = std::max<std::size_t>(units_, use.unit + 1);
        for (const Definition& definition : what.definitions)
            units_ = std::max<std::size_t>(units_, definition.unit + 1);
        return what;
    }

    Descriptors& descriptors_;
    const trace::Trace& trace_;
    std::vector<const InstructionDescriptor*> seen_;  ///< by instruction, plain and fused
    std::size_t units_ = 0;
};

}  // namespace tmaprobe::model::core
