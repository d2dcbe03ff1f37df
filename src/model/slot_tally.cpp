#include "model/slot_tally.h"

#include <numeric>

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

std::map<std::uint64_t, double> SlotTally::time_by_address(const OwnAddresses& addresses) const {
    std::map<std::uint64_t, double> times;
    for (std::size_t number = 0; number < slots_.size(); ++number)
        if (const auto all = std::accumulate(slots_[number].begin(), slots_[number].end(), std::uint64_t{0}))
            times[addresses.real(trace_.instructions[number].address)] += static_cast<double>(all);
    return times;
}

}  // namespace tmaprobe::model
