#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/slot_cause.h"

namespace tmaprobe::model::core {

using record::SlotCause;
inline constexpr const char* cause_names[] = {
#define TMAPROBE_CAUSE(name) #name,
    TMAPROBE_CAUSES(TMAPROBE_CAUSE)
#undef TMAPROBE_CAUSE
};
inline constexpr std::size_t cause_count = sizeof cause_names / sizeof cause_names[0];
using SlotsByCause = std::array<std::uint64_t, cause_count>;

/// Whether top-down formulas have it under memory.
constexpr bool is_memory(SlotCause cause) { return cause >= SlotCause::l2 && cause <= SlotCause::lock; }

/// Hears of every slot, with the executed instruction (a step of the trace) that it is put down to.
class SlotObserver {
  public:
    virtual ~SlotObserver() = default;
    virtual void slots(SlotCause cause, std::uint32_t step, std::uint64_t count) = 0;
    /// A load had its data so many cycles after it was issued.
    virtual void loaded(std::uint32_t, std::uint64_t /*cycles*/, bool /*missed_l1*/) {}
    virtual void mispredicted(std::uint32_t) {}
};

}  // namespace tmaprobe::model::core
