#include "model/branch_history.h"

#include "model/predictor_parts.h"

namespace tmaprobe::model {
namespace {

constexpr std::size_t remembered_bits = 512;
/// A hash is the sum of its bits times powers of this.
constexpr std::uint64_t base = 0xd1342543de82ef95u;

}  // namespace

BranchHistory::BranchHistory(std::span<const unsigned> lengths) : bits_(remembered_bits) {
    for (const unsigned bits : lengths) {
        Length& length = lengths_.emplace_back(Length{bits, 1, 0});
        for (unsigned i = 0; i < bits; ++i) length.of_oldest *= base;
    }
}

void BranchHistory::shift_in(bool bit) {
    newest_ = (newest_ + 1) % remembered_bits;
    bits_[newest_] = bit;
    for (Length& length : lengths_) {
        const std::uint64_t leaves = bits_[(newest_ + remembered_bits - length.bits) % remembered_bits];
        length.hash = length.hash * base + (bit ? 1 : 0) - (length.of_oldest & (0 - leaves));
    }
}

void BranchHistory::add(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) {
    if (branch.conditional) return shift_in(taken);
    if (!branch.call && !branch.returns && !branch.indirect) return;
    // Of the position in a page, which is the same in every run; enough bits to tell the operations of an interpreter
    // apart.
    constexpr std::uint64_t in_page = 4095;
    constexpr unsigned footprint_bits = 6;
    const std::uint64_t footprint = ((branch.address & in_page) << 12 ^ (target & in_page)) * golden_factor;
    for (unsigned bit = 1; bit <= footprint_bits; ++bit) shift_in(footprint >> (64 - bit) & 1);
}

void BranchHistory::add_bits(std::uint64_t address, unsigned first_bit, unsigned bits) {
    for (unsigned bit = first_bit; bit < first_bit + bits; ++bit) shift_in(address >> bit & 1);
}

std::uint64_t BranchHistory::hash(std::size_t length, std::uint64_t branch) const {
    std::uint64_t mixed = (lengths_[length].hash ^ branch * golden_factor) * second_factor;
    mixed ^= mixed >> 32;
    return mixed * golden_factor;
}

}  // namespace tmaprobe::model
