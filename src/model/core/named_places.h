#pragma once

// Which place in memory an instruction names, as a core can tell before it knows any address.

#include <array>
#include <bit>
#include <cstdint>

#include "model/core/descriptor.h"

namespace tmaprobe::model::core {

/// How an instruction names a place in memory. Two that are equal name the same one.
struct NamedPlace {
    std::int8_t base = trace::MemoryOperand::none, index = trace::MemoryOperand::none;
    std::uint8_t scale = 0;
    std::uint32_t base_written = 0, index_written = 0;  ///< how many times they had been
    std::int64_t displacement = 0;                      ///< of the stack: from where it was when written last
    static constexpr std::int8_t stack = 4;             ///< the stack pointer's number in a MemoryOperand of x86

    bool is_known() const { return base >= 0; }
    bool is_of_stack() const { return base == stack && index == trace::MemoryOperand::none; }
    bool operator==(const NamedPlace&) const = default;
};

/// Follows which registers are written. The stack pointer is not, as far as this goes, by pushes, pops and sums with
/// constants.
class NamedPlaces {
  public:
    /// Of an instruction that is about to be executed; not known without a base register of 64 bits.
    NamedPlace named_by(const InstructionDescriptor& what) const {
        NamedPlace place;
        if (what.what.push || what.what.pop) {
            place.base = stack;
            place.displacement = stack_at_ + (what.what.push ? what.stack_change : 0);
        } else if (const trace::MemoryOperand& operand = what.what.memory;
                   is_register(operand.base) && !operand.segment) {
            place.base = operand.base;
            place.index = operand.index;
            place.scale = operand.index == trace::MemoryOperand::none ? std::uint8_t{0} : operand.scale;
            place.displacement = operand.displacement + (operand.base == stack ? stack_at_ : 0);
            if (is_register(operand.index)) place.index_written = written_[static_cast<unsigned>(operand.index)];
        } else {
            return place;
        }
        place.base_written = written_[static_cast<unsigned>(place.base)];
        return place;
    }

    void executed(const InstructionDescriptor& what) {
        stack_at_ += what.stack_change;
        for (unsigned left = what.registers_written; left; left &= left - 1)
            ++written_[static_cast<unsigned>(std::countr_zero(left))];
        if (what.registers_written >> stack & 1u) stack_at_ = 0;
    }

  private:
    static constexpr std::int8_t stack = NamedPlace::stack;
    bool is_register(std::int8_t number) const {
        return number >= 0 && static_cast<unsigned>(number) < written_.size();
    }
    std::array<std::uint32_t, 16> written_{};
    std::int64_t stack_at_ = 0;
};

}  // namespace tmaprobe::model::core
