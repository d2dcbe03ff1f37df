#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace tmaprobe::model {

/// What happened at the branches before, as predictors see it: a bit for each conditional branch, taken or not, and
/// some of the target of each call, return and indirect branch. Looked back upon over several lengths, each of which
/// has a hash that moves with it, of all of its bits: where every other bit is the same, as in a loop of two branches,
/// what is left must tell as much apart as without them. (How far back real ones look: H. Yavarzadeh et al.,
/// "Half&Half: Demystifying Intel's Directional Branch Predictors", IEEE S&P 2023: 93 taken branches in Skylake, 194 in
/// Alder Lake.)
class BranchHistory {
  public:
    /// `lengths`: in bits, each less than 512.
    explicit BranchHistory(std::span<const unsigned> lengths);

    void add(bool taken) { shift_in(taken); }
    void add(const trace::StaticInstruction& branch, bool taken, std::uint64_t target);
    /// Bits of a taken branch's address, and nothing else.
    void add_bits(std::uint64_t address, unsigned first_bit, unsigned bits);

    /// Of a branch after what is looked back upon over this length: any bits of it are as good as others.
    std::uint64_t hash(std::size_t length, std::uint64_t branch) const;

  private:
    struct Length {
        unsigned bits = 0;
        std::uint64_t of_oldest = 0;  ///< what the bit that leaves has added to the hash
        std::uint64_t hash = 0;
    };

    void shift_in(bool bit);

    std::vector<Length> lengths_;
    std::vector<std::uint8_t> bits_;
    std::size_t newest_ = 0;
};

}  // namespace tmaprobe::model
