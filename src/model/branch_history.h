#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace tmaprobe::model {

/// What happened at the branches before, as predictors see it, in steps: either a bit for each conditional branch,
/// taken or not, and some of the target of each call, return and indirect branch, or a number for each taken branch.
/// Besides, there may be steps of a second kind, with lengths of their own, fewer or more of which go by meanwhile.
/// Looked back upon over several lengths, each of which has a hash that moves with it, of all of its steps: where every
/// other one is the same, as in a loop of two branches, what is left must tell as much apart as without them. (How far
/// back real ones look: H. Yavarzadeh et al., "Half&Half: Demystifying Intel's Directional Branch Predictors", IEEE S&P
/// 2023: 93 taken branches in Skylake, 194 in Alder Lake.)
class BranchHistory {
  public:
    static constexpr unsigned longest = 511;
    /// `lengths`: in steps, each `longest` at most. `lengths_of_second`: as many, in steps of the second kind, or none.
    explicit BranchHistory(std::span<const unsigned> lengths, std::span<const unsigned> lengths_of_second = {});

    void add(bool taken) { add_step(taken); }
    /// A step for a conditional branch, several for a call, a return or an indirect branch.
    void add(const trace::StaticInstruction& branch, bool taken, std::uint64_t target);
    void add_step(std::uint32_t known) { first_.add(known); }
    void add_second_step(std::uint32_t known) { second_.add(known); }  ///< only with lengths of them

    /// Of a branch after what is looked back upon over this length: any bits of the hash are as good as others.
    std::uint64_t hash(std::size_t length, std::uint64_t branch) const;

  private:
    struct Length {
        unsigned steps = 0;
        std::uint64_t of_oldest = 0;  ///< by which the step that leaves counts in the hash
        std::uint64_t hash = 0;
    };

    struct Steps {
        explicit Steps(std::span<const unsigned> lengths);
        void add(std::uint32_t known);

        std::vector<Length> lengths;
        std::vector<std::uint32_t> steps;
        std::size_t newest = 0;
    };

    Steps first_, second_;
};

}  // namespace tmaprobe::model
