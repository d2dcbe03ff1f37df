#include "model/first_guesses.h"

#include <bit>

#include "model/predictor_parts.h"

namespace tmaprobe::model {

std::size_t FirstGuesses::row(std::uint64_t branch) const {
    const int bits = std::countr_zero(rows_);
    return static_cast<std::size_t>(((branch ^ kind_before_ * second_factor) * golden_factor) >> (64 - bits));
}

std::optional<std::uint64_t> FirstGuesses::target(std::uint64_t branch) const {
    if (!are_made()) return std::nullopt;
    const std::uint64_t* guess = guesses_.look(row(branch));
    if (!guess || *guess == no_target) return std::nullopt;
    return *guess;
}

core::Foretold FirstGuesses::learn(std::uint64_t branch, std::uint64_t target, bool foretold) {
    using enum core::Foretold;
    if (!are_made()) return right;
    std::uint64_t* const known = guesses_.change(row(branch));
    std::uint64_t &guess = known[0], &ever_varied = known[1];
    if (guess == no_target) guess = target;
    if (guess == target) return ever_varied ? confirmed : right;
    ever_varied = 1;
    if (!foretold) guess = target;
    return late;
}

void FirstGuesses::took(const trace::StaticInstruction& branch, core::Foretold foretold) {
    // How many are told apart by their address: of jumps in any order before one, up to 8 are and 32 are not.
    constexpr unsigned kind_bits = 5;
    const bool put_right = branch.indirect && foretold == core::Foretold::late;
    kind_before_ = branch.call || branch.returns || put_right ? 0 : branch.address * third_factor >> (64 - kind_bits);
}

}  // namespace tmaprobe::model
