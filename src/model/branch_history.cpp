#include "model/branch_history.h"

#include "model/predictor_parts.h"

namespace tmaprobe::model {
namespace {

constexpr std::size_t remembered = BranchHistory::longest + 1;
/// A hash is the sum of its steps times powers of this.
constexpr std::uint64_t base = 0xd1342543de82ef95u;

}  // namespace

BranchHistory::BranchHistory(std::span<const unsigned> lengths, std::span<const unsigned> lengths_of_second)
    : first_(lengths), second_(lengths_of_second) {}

BranchHistory::Steps::Steps(std::span<const unsigned> wanted) : steps(wanted.empty() ? 0 : remembered) {
    for (const unsigned count : wanted) {
        Length& length = lengths.emplace_back(Length{count, 1, 0});
        for (unsigned i = 0; i < count; ++i) length.of_oldest *= base;
    }
}

void BranchHistory::Steps::add(std::uint32_t known) {
    newest = (newest + 1) % remembered;
    steps[newest] = known;
    for (Length& length : lengths) {
        const std::uint64_t leaves = steps[(newest + remembered - length.steps) % remembered];
        length.hash = length.hash * base + known - length.of_oldest * leaves;
    }
}

void BranchHistory::add(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) {
    if (branch.conditional) return add_step(taken);
    if (!branch.call && !branch.returns && !branch.indirect) return;
    // Of the position in a page, which is the same in every run; enough bits to tell the operations of an interpreter
    // apart.
    constexpr std::uint64_t in_page = 4095;
    constexpr unsigned footprint_bits = 6;
    const std::uint64_t footprint = ((branch.address & in_page) << 12 ^ (target & in_page)) * golden_factor;
    for (unsigned bit = 1; bit <= footprint_bits; ++bit) add_step(footprint >> (64 - bit) & 1);
}

std::uint64_t BranchHistory::hash(std::size_t length, std::uint64_t branch) const {
    std::uint64_t mixed = first_.lengths[length].hash ^ branch * golden_factor;
    if (length < second_.lengths.size()) mixed = mixed * third_factor ^ second_.lengths[length].hash;
    mixed *= second_factor;
    mixed ^= mixed >> 32;
    return mixed * golden_factor;
}

}  // namespace tmaprobe::model
