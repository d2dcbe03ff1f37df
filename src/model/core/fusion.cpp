#include "model/core/fusion.h"

namespace tmaprobe::model::core {

bool fuses(const CoreParameters& parameters, const trace::StaticInstruction& first,
           const trace::StaticInstruction& second) {
    using enum trace::FusesWith;
    if (!parameters.fuses_compare_and_branch || first.fuses_with == none || !second.conditional) return false;
    const bool by_instruction_pointer = first.memory.base == trace::MemoryOperand::instruction_pointer;
    if (first.explicit_memory && (!parameters.fuses_memory_compare || by_instruction_pointer)) return false;
    if (!parameters.fuses_by_condition || first.fuses_with == any) return true;
    // As they are encoded, in pairs: overflow, carry, equal, carry or equal, sign, parity, less, less or equal.
    constexpr unsigned by_sign = 1u << 0 | 1u << 4 | 1u << 5, by_carry = 1u << 1 | 1u << 3;
    const unsigned not_with = first.fuses_with == those_of_no_sign ? by_sign : by_sign | by_carry;
    return !(1u << second.condition / 2 & not_with);
}

}  // namespace tmaprobe::model::core
