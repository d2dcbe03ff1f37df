#include "counters/slot_attribution.h"

namespace tmaprobe::counters {
namespace {

/// A bit for each cause that has slots.
std::uint64_t causes_of(const SlotsByCause& slots) {
    static_assert(slot_causes < 63, "a bit is left for the page's size");
    std::uint64_t causes = 0;
    for (std::size_t cause = 0; cause < slot_causes; ++cause)
        if (slots[cause]) causes |= std::uint64_t{1} << cause;
    return causes;
}

}  // namespace

void InstructionSlots::add(std::uint64_t address, const SlotsByCause& slots) {
    numbers.insert(numbers.end(), {address, causes_of(slots)});
    for (const std::uint64_t count : slots)
        if (count) numbers.push_back(count);
}

void AccessSlots::add(const Access& access) {
    numbers.insert(numbers.end(), {access.instruction, access.data,
                                   causes_of(access.slots) | (access.in_huge_page ? huge : 0) |
                                       (access.allocation & most_allocations) << allocation_at});
    for (const std::uint64_t count : access.slots)
        if (count) numbers.push_back(count);
}

void CallPaths::add(std::uint32_t call, std::uint64_t address, const SlotsByCause& slots) {
    numbers.insert(numbers.end(), {call, address, causes_of(slots)});
    for (const std::uint64_t count : slots)
        if (count) numbers.push_back(count);
}

}  // namespace tmaprobe::counters
