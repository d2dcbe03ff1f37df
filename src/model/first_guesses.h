#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/core/simulate.h"
#include "model/shared_rows.h"

namespace tmaprobe::model {

/// What a core that foretells some cycles ahead guesses at once of where indirect branches go, before its tables, which
/// look further back, are asked: where one went when it was last mispredicted behind such a taken branch as now. Few of
/// these are told apart: calls and returns are all the same, and so is an indirect branch of which the guess was wrong.
class FirstGuesses {
  public:
    /// `rows`: of branches, each behind one of the kinds of branches before it that are told apart; 0: nothing is ever
    /// guessed. Else a power of 2, 2 at least.
    explicit FirstGuesses(std::size_t rows) : rows_(rows), guesses_(rows, 2, no_target) {}
    bool are_made() const { return rows_ > 0; }
    /// Nothing where no such branch is known.
    std::optional<std::uint64_t> target(std::uint64_t branch) const;
    /// What the guess was worth of a branch that went there. `foretold`: the tables know it, and the guess stays.
    core::Foretold learn(std::uint64_t branch, std::uint64_t target, bool foretold);
    /// This branch was taken.
    void took(const trace::StaticInstruction& branch, core::Foretold foretold);

  private:
    static constexpr std::uint64_t no_target = 0;
    std::size_t row(std::uint64_t branch) const;

    std::size_t rows_;
    SharedRows<std::uint64_t> guesses_;  ///< the target, and whether it ever was another
    std::uint64_t kind_before_ = 0;
};

}  // namespace tmaprobe::model
