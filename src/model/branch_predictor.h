#pragma once

#include <cstdint>
#include <vector>

#include "model/branch_history.h"
#include "model/core/simulate.h"
#include "model/direction_predictor.h"
#include "model/first_guesses.h"
#include "model/set_associative.h"
#include "model/shared_rows.h"

namespace tmaprobe::model {

/// Which branches' targets are known: two levels of branches that were taken, by address. What the vendors publish is
/// how many there are; how they are found and replaced is not known but where a core was timed, so any of a few may go.
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
    std::uint64_t line_sets_;                 ///< of lines of code, in the first level; 0: it has none such
    std::uint64_t first_sets_, second_sets_;  ///< in which calls are looked for by their lines; 0: as all others
    SetAssociative first_, second_;
    SharedRows<std::uint8_t> met_;
};

/// Of the class of today's predictors. Conditional branches: DirectionPredictor, with tables as large as the target's
/// data say. Indirect branches: the same with targets (ITTAGE), and FirstGuesses on cores that make them. Both look
/// back upon what is known of the target CPU, else upon up to 388 bits of directions and targets. Returns: a stack
/// of 32. Direct branches never miss. A branch that was never met, and a return to a call from before the first branch,
/// is foretold right and counted as unknown: a program that was met in the middle of its run has met them before.
class BranchPredictor final : public core::BranchOracle {
  public:
    explicit BranchPredictor(const events::CoreGeometry& core = {});
    core::Foretold foretell(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) override;
    core::TargetKnown knows_target(const trace::StaticInstruction& branch) override;
    /// What was never met is mispredicted from now on, where a guess by direction is wrong.
    void unknown_is_missed() { unknown_is_missed_ = true; }
    /// Branches that were not known when they were met.
    std::uint64_t unknown() const { return unknown_; }

  private:
    void note_taken(const trace::StaticInstruction& branch, std::uint64_t target);
    std::uint64_t of_recent_branches() const;
    core::Foretold conditional(const trace::StaticInstruction& branch, bool taken);
    core::Foretold indirect(std::uint64_t address, std::uint64_t target);
    bool returns(std::uint64_t target);

    DirectionPredictor directions_;
    std::vector<SharedRows<std::uint64_t>> tagged_targets_;  ///< the target, then tag and confidence
    unsigned target_bits_;                                   ///< of the number of rows of each of these
    SharedRows<std::uint64_t> targets_;                      ///< without a history
    BranchTargets known_targets_;
    FirstGuesses first_guesses_;
    unsigned history_bits_, history_first_bit_, history_target_bits_;
    bool directions_by_taken_;  ///< conditional branches are foretold by taken ones, and not by the directions before
    bool targets_by_taken_;     ///< and indirect ones, by a history of their own
    bool conditional_besides_;  ///< both also by the conditional ones alone
    bool past_condition_ = false;  ///< a condition did not hold since the last taken branch
    bool just_returned_ = false;   ///< the branch before was a return
    unsigned recent_branches_, recent_target_bits_, recent_return_bits_, recent_place_bits_;
    /// What is known of the last branches, the latest lowest.
    std::uint64_t recent_targets_ = 0, recent_places_ = 0;
    BranchHistory history_;            ///< of conditional branches, and of all where nothing else is known
    BranchHistory taken_for_targets_;  ///< of indirect branches, with targets_by_taken_
    std::vector<std::uint64_t> returns_;
    std::uint64_t lost_returns_ = 0, unknown_ = 0;
    std::uint32_t random_ = 1;
    bool unknown_is_missed_ = false;
};

}  // namespace tmaprobe::model
