#include "model/slot_tally.h"

#include <map>

namespace tmaprobe::model {

counters::InstructionSlots SlotTally::by_address(const OwnAddresses& addresses) const {
    std::map<std::uint64_t, counters::SlotsByCause> sums;
    for (std::size_t number = 0; number < slots_.size(); ++number) {
        if (slots_[number] == counters::SlotsByCause{}) continue;
        auto& sum = sums[addresses.real(trace_.instructions[number].address)];
        for (std::size_t cause = 0; cause < sum.size(); ++cause) sum[cause] += slots_[number][cause];
    }
    counters::InstructionSlots slots;
    for (const auto& [address, of_it] : sums) slots.add(address, of_it);
    return slots;
}

}  // namespace tmaprobe::model
