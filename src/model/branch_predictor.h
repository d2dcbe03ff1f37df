#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/core/simulate.h"
#include "model/set_associative.h"
#include "model/shared_rows.h"

namespace tmaprobe::model {

/// What happened at the branches before, as predictors see it: a bit for each conditional branch, taken or not, and two
/// of the target of each call, return and indirect branch. Each table uses another length of it, folded to the size of
/// its index and tag. (How far back real ones look: H. Yavarzadeh et al., "Half&Half: Demystifying Intel's Directional
/// Branch Predictors", IEEE S&P 2023: 93 taken branches in Skylake, 194 in Alder Lake.)
class BranchHistory {
  public:
    static constexpr std::size_t tables = 7;
    /// Bits that each table looks back upon.
    static constexpr std::array<unsigned, tables> lengths{4, 9, 18, 36, 72, 144, 388};
    static constexpr unsigned index_bits = 12, tag_bits = 12;

    void add(const trace::StaticInstruction& branch, bool taken, std::uint64_t target);
    /// Bits of a taken branch's address, and nothing else.
    void add_bits(std::uint64_t address, unsigned first_bit, unsigned bits);
    std::uint32_t index(std::size_t table, std::uint64_t address) const;
    std::uint32_t tag(std::size_t table, std::uint64_t address) const;

  private:
    static constexpr std::size_t kept_bits = 512;
    static constexpr unsigned folds = 3;
    static constexpr std::array<unsigned, folds> fold_bits{index_bits, tag_bits, tag_bits - 1};

    void shift_in(bool bit);

    std::array<std::uint8_t, kept_bits> bits_{};
    std::size_t newest_ = 0;
    std::array<std::array<std::uint32_t, folds>, tables> folded_{};
};

/// Which branches' targets are known: two levels of branches that were taken, by address. What the vendors publish is
/// how many there are; how they are found and replaced is not known, so any of a few may go.
class BranchTargets {
  public:
    explicit BranchTargets(const events::BranchForetelling& foretelling);
    struct Found {
        core::TargetKnown where = core::TargetKnown::first_level;
        bool met = false;  ///< the branch was taken before
    };
    /// Of a branch that is taken; it is known in both levels afterwards.
    Found find(const trace::StaticInstruction& branch);

  private:
    bool has_first_, has_second_;
    std::uint64_t first_sets_, second_sets_;  ///< in which calls are looked for by their lines; 0: as all others
    SetAssociative first_, second_;
    SharedRows<std::uint8_t> met_;
};

/// Of the class of today's predictors, and smaller than some. Conditional branches: TAGE (A. Seznec, P. Michaud, "A
/// case for (partially) TAgged GEometric history length branch prediction", JILP 2006) of counters by address and seven
/// tagged tables of 4,096 entries with histories up to 388 bits. Indirect branches: the same with
/// targets (ITTAGE), where it is known by the history of the target CPU. Returns: a stack of 32. Direct branches never
/// miss. A branch that was never met, and a return to a call from before the first branch, is foretold right and
/// counted as unknown: a program that was met in the middle of its run has met them before.
class BranchPredictor final : public core::BranchOracle {
  public:
    explicit BranchPredictor(const events::CoreGeometry& core = {});
    bool mispredicts(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) override;
    core::TargetKnown knows_target(const trace::StaticInstruction& branch) override;
    /// What was never met is mispredicted from now on, where a guess by direction is wrong.
    void unknown_is_missed() { unknown_is_missed_ = true; }
    /// Branches that were not known when they were met.
    std::uint64_t unknown() const { return unknown_; }

  private:
    struct Found {
        int table = -1, other = -1;  ///< with the longest history, and with the next longest; -1: by address
    };
    bool conditional(const trace::StaticInstruction& branch, bool taken);
    bool indirect(std::uint64_t address, std::uint64_t target);
    bool returns(std::uint64_t target);
    void allocate(Found found, bool taken);

    /// Bits 0-2: counter; 3-4: use; 8-19: tag. Of targets: the target, then tag and confidence.
    std::vector<SharedRows<std::uint32_t>> tagged_;
    std::vector<SharedRows<std::uint64_t>> tagged_targets_;
    SharedRows<std::uint8_t> by_address_;
    SharedRows<std::uint64_t> targets_;
    std::array<std::uint32_t, BranchHistory::tables> at_{}, tags_{};
    BranchTargets known_targets_;
    BranchHistory history_, of_taken_;
    unsigned history_bits_, history_first_bit_;
    std::vector<std::uint64_t> returns_;
    std::uint64_t lost_returns_ = 0, unknown_ = 0;
    std::uint32_t random_ = 1;
    int trusts_new_ = 8;  ///< 0..15: whether entries that are new do better than the ones before them
    bool unknown_is_missed_ = false;
};

}  // namespace tmaprobe::model
