#include "model/slot_tally.h"

#include <map>
#include <tuple>
#include <utility>

namespace tmaprobe::model {

std::vector<std::uint64_t> SlotTally::by_instruction() const {
    std::vector<std::uint64_t> slots(trace_.instructions.size());
    for (const Noted& one : noted_)
        if (counts(one.step)) slots[trace_.steps[one.step].instruction] += one.count;
    return slots;
}

counters::InstructionSlots SlotTally::by_address(const OwnAddresses& addresses) const {
    std::vector<counters::SlotsByCause> of_instructions(trace_.instructions.size());
    for (const Noted& one : noted_)
        if (counts(one.step))
            of_instructions[trace_.steps[one.step].instruction][static_cast<std::size_t>(one.cause)] += one.count;
    std::map<std::uint64_t, counters::SlotsByCause> sums;
    for (std::size_t number = 0; number < of_instructions.size(); ++number) {
        if (of_instructions[number] == counters::SlotsByCause{}) continue;
        auto& sum = sums[addresses.real_code(trace_.instructions[number].address)];
        for (std::size_t cause = 0; cause < sum.size(); ++cause) sum[cause] += of_instructions[number][cause];
    }
    counters::InstructionSlots slots;
    for (const auto& [address, of_it] : sums) slots.add(address, of_it);
    return slots;
}

counters::InstructionEvents SlotTally::events_by_address(const OwnAddresses& addresses, std::size_t lead_in) const {
    std::vector<counters::InstructionEvents::Counts> of_instructions(trace_.instructions.size());
    for (const Met& one : met_) {
        if (!counts(one.step)) continue;
        auto& sum = of_instructions[trace_.steps[one.step].instruction];
        sum.mispredictions += one.mispredicted;
        sum.loads += !one.mispredicted;
        sum.missed_l1 += one.missed_l1;
        sum.load_cycles += one.load_cycles;
    }
    for (std::size_t step = lead_in; step < trace_.steps.size(); ++step)
        if (counts(static_cast<std::uint32_t>(step))) ++of_instructions[trace_.steps[step].instruction].executions;
    counters::InstructionEvents events;
    for (std::size_t number = 0; number < of_instructions.size(); ++number)
        if (const auto& sum = of_instructions[number]; sum.loads || sum.mispredictions)
            events.add(addresses.real_code(trace_.instructions[number].address), sum);
    return events;
}

counters::CallPaths SlotTally::by_call(CallFollower follower, const OwnAddresses& addresses) const {
    std::vector<trace::StaticInstruction> real = trace_.instructions;
    if (!addresses.empty())
        for (auto& instruction : real) instruction.address = addresses.real(instruction.address);
    std::map<std::pair<std::uint32_t, std::uint32_t>, counters::SlotsByCause> sums;
    std::vector<std::uint32_t> call_of(trace_.steps.size());
    for (std::size_t step = 0; step < trace_.steps.size(); ++step) {
        call_of[step] = follower.current();
        if (step + 1 < trace_.steps.size())
            follower.step(real[trace_.steps[step].instruction], real[trace_.steps[step + 1].instruction].address);
    }
    for (const Noted& one : noted_)
        if (counts(one.step))
            sums[{call_of[one.step], trace_.steps[one.step].instruction}][static_cast<std::size_t>(one.cause)] +=
                one.count;
    counters::CallPaths paths;
    paths.calls = follower.calls();
    for (const auto& [place, slots] : sums) paths.add(place.first, real[place.second].address, slots);
    return paths;
}

std::map<std::uint64_t, double> SlotTally::time_by_address(const OwnAddresses& addresses) const {
    std::vector<std::uint64_t> slots(trace_.instructions.size());
    for (const Noted& one : noted_) slots[trace_.steps[one.step].instruction] += one.count;
    std::map<std::uint64_t, double> times;
    for (std::size_t number = 0; number < slots.size(); ++number)
        if (slots[number])
            times[addresses.real_code(trace_.instructions[number].address)] += static_cast<double>(slots[number]);
    return times;
}

std::map<std::uint32_t, std::map<std::uint64_t, double>> SlotTally::time_by_region(
    const OwnAddresses& addresses) const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sums;
    for (const Noted& one : noted_) {
        const trace::Step& step = trace_.steps[one.step];
        sums[{step.regions, step.instruction}] += one.count;
    }
    std::map<std::uint32_t, std::map<std::uint64_t, double>> times;
    for (const auto& [place, slots] : sums)
        times[place.first][addresses.real_code(trace_.instructions[place.second].address)] +=
            static_cast<double>(slots);
    return times;
}

counters::AccessSlots SlotTally::by_access(const OwnAddresses& addresses, const trace::PageMap& pages,
                                           const AllocationAt& allocation_at) const {
    constexpr std::uint64_t small_page = 4096;
    // By instruction, page, and whose block it is: a page may have blocks of many.
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, counters::AccessSlots::Access> sums;
    for (const Noted& one : noted_) {
        if (!core::is_memory(one.cause) || !counts(one.step)) continue;
        const trace::Step& step = trace_.steps[one.step];
        const bool of_store = one.cause == core::SlotCause::store_buffer || !step.load;
        const std::uint64_t data = of_store ? step.store : step.load;
        const std::uint32_t allocation = allocation_at && data ? allocation_at(addresses.real(data)) : 0;
        auto& sum = sums[{step.instruction, data / small_page, allocation}];
        if (!sum.data) sum.data = data;
        sum.allocation = allocation;
        sum.slots[static_cast<std::size_t>(one.cause)] += one.count;
    }
    counters::AccessSlots slots;
    for (auto& [where, sum] : sums) {
        sum.instruction = addresses.real_code(trace_.instructions[std::get<0>(where)].address);
        if (sum.data) sum.data = addresses.real(sum.data);
        sum.in_huge_page = sum.data && pages.page_bytes(sum.data) > small_page;
        slots.add(sum);
    }
    return slots;
}

}  // namespace tmaprobe::model
