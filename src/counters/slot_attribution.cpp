#include "counters/slot_attribution.h"

namespace tmaprobe::counters {

void InstructionSlots::add(std::uint64_t address, const SlotsByCause& slots) {
    static_assert(slot_causes <= 64);
    std::uint64_t causes = 0;
    for (std::size_t cause = 0; cause < slot_causes; ++cause)
        if (slots[cause]) causes |= std::uint64_t{1} << cause;
    numbers.insert(numbers.end(), {address, causes});
    for (const std::uint64_t count : slots)
        if (count) numbers.push_back(count);
}

}  // namespace tmaprobe::counters
