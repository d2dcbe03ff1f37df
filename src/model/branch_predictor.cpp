#include "model/branch_predictor.h"

#include <array>
#include <bit>
#include <span>

#include "model/core/descriptor.h"
#include "model/predictor_parts.h"

namespace tmaprobe::model {
namespace {

/// Bits that each table looks back upon where nothing is known of the core.
constexpr std::array<unsigned, 7> bits_of_directions{4, 9, 18, 36, 72, 144, 388};
static_assert(events::CoreGeometry::most_histories <= DirectionPredictor::most_tables &&
              events::CoreGeometry::longest_history <= BranchHistory::longest);
constexpr std::size_t by_address_bits = 14;
constexpr std::size_t return_stack = 32;
constexpr int target_ways = 8;
constexpr std::uint64_t no_target = 0;

std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

std::size_t by_address(std::uint64_t address) {
    return static_cast<std::size_t>((address * golden_factor) >> (64 - by_address_bits));
}

/// What is looked back upon over these numbers of taken branches, if the core's data has any.
std::span<const unsigned> lengths_of(const std::vector<unsigned>& taken_branches) {
    if (taken_branches.empty()) return bits_of_directions;
    return taken_branches;
}

/// What a table of so many sets finds a branch by whose sets are of lines of code: branches of one line compete with
/// each other. `scatter`: by how many sets places of a line, one after another, are apart.
std::uint64_t key_of_line(const trace::StaticInstruction& branch, std::uint64_t sets, std::uint64_t scatter = 0) {
    const std::uint64_t line = branch.address / core::line_bytes, place = branch.address % core::line_bytes;
    return (line / sets * core::line_bytes + place) * sets + (line + place * scatter) % sets;
}

/// What a table of targets finds a branch by. `sets`: those of a table in which calls and returns clash that lie at the
/// same place of lines a power of 2 apart; 0: it finds all by a mixture of their address's bits.
std::uint64_t key(const trace::StaticInstruction& branch, std::uint64_t sets) {
    constexpr std::uint64_t scatter = 61;
    if ((branch.call || branch.returns) && sets) return key_of_line(branch, sets, scatter);
    constexpr unsigned kept_bits = 40;
    return (branch.address * golden_factor) >> (64 - kept_bits);
}

}  // namespace

BranchTargets::BranchTargets(const events::BranchForetelling& foretelling)
    : has_first_(foretelling.first_level_targets > 0),
      has_second_(foretelling.second_level_targets > 0),
      line_sets_(foretelling.first_level_line_targets
                     ? foretelling.first_level_targets / foretelling.first_level_line_targets
                     : 0),
      first_sets_(foretelling.calls_by_line ? foretelling.first_level_targets / target_ways : 0),
      second_sets_(foretelling.calls_by_line ? foretelling.second_level_targets / target_ways : 0),
      first_(foretelling.first_level_targets,
             line_sets_ ? static_cast<int>(foretelling.first_level_line_targets) : target_ways, SetAssociative::any),
      second_(foretelling.second_level_targets, target_ways, SetAssociative::any),
      met_(std::size_t{1} << by_address_bits, 1, 0) {}

BranchTargets::Found BranchTargets::find(const trace::StaticInstruction& branch) {
    using enum core::TargetKnown;
    if (!has_first_) return {};
    const std::uint64_t in_first_as = line_sets_ ? key_of_line(branch, line_sets_) : key(branch, first_sets_);
    const std::uint64_t in_second_as = key(branch, second_sets_);
    const bool in_first = first_.find(in_first_as);
    const bool in_second = !has_second_ || second_.find(in_second_as);
    if (!in_first) first_.insert(in_first_as);
    if (!in_second) second_.insert(in_second_as);
    const std::size_t row = by_address(branch.address);
    const std::uint8_t* met_row = met_.look(row);
    const bool met = met_row && *met_row;
    if (!met) *met_.change(row) = 1;
    return {in_first ? first_level : in_second ? second_level : decoder, met};
}

core::TargetKnown BranchPredictor::knows_target(const trace::StaticInstruction& branch) {
    const auto [where, met] = known_targets_.find(branch);
    // As with directions: a program that was met in the middle of its run has met its branches before.
    return met || unknown_is_missed_ ? where : core::TargetKnown::first_level;
}

BranchPredictor::BranchPredictor(const events::CoreGeometry& core)
    : directions_({lengths_of(core.direction_history).size(), core.foretelling.direction_entries,
                   core.foretelling.direction_half_bit, core.foretelling.direction_counter_bits},
                  {core.foretelling.quick_contexts, core.foretelling.quick_taken_branches,
                   core.foretelling.quick_counter_bits, core.foretelling.quick_length}),
      tagged_targets_(lengths_of(core.target_history).size(),
                      SharedRows<std::uint64_t>(core.foretelling.target_entries, 2, no_target)),
      target_bits_(static_cast<unsigned>(std::countr_zero(core.foretelling.target_entries))),
      targets_(std::size_t{1} << by_address_bits, 1, no_target),
      known_targets_(core.foretelling),
      first_guesses_(core.foretelling.first_guesses),
      history_bits_(core.history_bits),
      history_first_bit_(core.history_first_bit),
      history_target_bits_(core.history_target_bits),
      directions_by_taken_(!core.direction_history.empty()),
      targets_by_taken_(!core.target_history.empty()),
      conditional_besides_(!core.conditional_history.empty()),
      recent_branches_(core.recent_branches),
      recent_target_bits_(core.recent_target_bits),
      recent_return_bits_(core.recent_return_bits),
      recent_place_bits_(core.recent_place_bits),
      history_(lengths_of(core.direction_history), core.conditional_history),
      taken_for_targets_(lengths_of(core.target_history), core.conditional_history) {}

core::Foretold BranchPredictor::foretell(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) {
    using enum core::Foretold;
    core::Foretold foretold = right;
    if (branch.conditional)
        foretold = conditional(branch, taken);
    else if (branch.returns)
        foretold = returns(target) ? wrong : right;
    else if (branch.indirect)
        foretold = indirect(branch.address, target);
    if (branch.call) {
        if (returns_.size() == return_stack) {
            returns_.erase(returns_.begin());
            ++lost_returns_;
        }
        returns_.push_back(branch.address + branch.length);
    }
    if (!branch.conditional) directions_.took(branch.address);
    if (!directions_by_taken_) history_.add(branch, taken, target);
    just_returned_ = branch.returns;
    if (taken || !branch.conditional) {
        note_taken(branch, target);
        first_guesses_.took(branch, foretold);
    } else {
        past_condition_ = true;
    }
    return foretold;
}

void BranchPredictor::note_taken(const trace::StaticInstruction& branch, std::uint64_t target) {
    if (directions_by_taken_ || targets_by_taken_) {
        const std::uint64_t last_byte = branch.address + branch.length - 1;
        const auto known =
            static_cast<std::uint32_t>((last_byte >> history_first_bit_ & mask(history_bits_)) << history_target_bits_ |
                                       (target & mask(history_target_bits_)));
        if (targets_by_taken_) taken_for_targets_.add_step(known);
        if (directions_by_taken_) history_.add_step(known);
        if (conditional_besides_ && (branch.conditional || past_condition_)) {
            // Of which of its bits a core sees is not known. Those of the place in a page are the same in every run.
            constexpr std::uint64_t in_page = 4095;
            const auto place = static_cast<std::uint32_t>(last_byte & in_page);
            taken_for_targets_.add_second_step(place);
            history_.add_second_step(place);
        }
    }
    past_condition_ = false;
    if (recent_branches_) {
        constexpr unsigned bits_each = 16, most = 64 / bits_each;
        const auto remember = [](std::uint64_t& recent, std::uint64_t known, unsigned branches) {
            recent = recent << bits_each | known;
            if (branches < most) recent &= (std::uint64_t{1} << bits_each * branches) - 1;
        };
        remember(recent_targets_, branch.indirect && !branch.returns ? target & recent_target_bits_ : 0,
                 recent_branches_);
        remember(recent_places_, branch.address & (branch.returns ? recent_return_bits_ : recent_place_bits_),
                 recent_branches_ - 1);
    }
}

std::uint64_t BranchPredictor::of_recent_branches() const {
    constexpr std::uint64_t other_factor = 0xc2b2ae3d27d4eb4fu;
    return recent_targets_ * third_factor ^ recent_places_ * other_factor;
}

bool BranchPredictor::returns(std::uint64_t target) {
    if (!returns_.empty()) {
        const bool missed = returns_.back() != target;
        returns_.pop_back();
        return missed;
    }
    if (lost_returns_ > 0) {
        --lost_returns_;
        return true;
    }
    ++unknown_;
    return unknown_is_missed_;
}

core::Foretold BranchPredictor::conditional(const trace::StaticInstruction& branch, bool taken) {
    const auto [foretold, is_new] = directions_.meet(history_, branch.address, taken, of_recent_branches());
    if (!is_new) return foretold;
    ++unknown_;
    const bool backwards = branch.target && branch.target <= branch.address;
    return unknown_is_missed_ && backwards != taken ? core::Foretold::wrong : core::Foretold::right;
}

core::Foretold BranchPredictor::indirect(std::uint64_t address, std::uint64_t target) {
    // First word: the target; second: the tag and one, then two bits of confidence.
    constexpr std::uint64_t confidence_mask = 3, most_confident = 3;
    constexpr unsigned tag_at = 2;
    constexpr std::uint64_t tag_mask = 0xffff;
    int table_found = -1;
    const BranchHistory& history = targets_by_taken_ ? taken_for_targets_ : history_;
    // What is known of the latest branches alone, cores that guess first know by their guesses, but behind a return.
    const bool knows_recent = just_returned_ || !first_guesses_.are_made();
    const std::uint64_t with_recent = knows_recent ? address ^ of_recent_branches() : address;
    std::array<std::uint64_t, DirectionPredictor::most_tables> hashes{};
    for (std::size_t table = 0; table < tagged_targets_.size(); ++table)
        hashes[table] = history.hash(table, with_recent);
    const auto place = [&](std::size_t table) { return hashes[table] >> (64 - target_bits_); };
    const auto tag = [&](std::size_t table) { return (hashes[table] >> 8 & tag_mask) + 1; };
    for (std::size_t table = 0; table < tagged_targets_.size(); ++table) {
        const std::uint64_t* entry = tagged_targets_[table].look(place(table));
        if (entry && entry[1] >> tag_at == tag(table)) table_found = static_cast<int>(table);
    }
    std::uint64_t& last = *targets_.change(by_address(address));
    const bool is_new = last == no_target, elsewhere = last != target;
    const std::optional<std::uint64_t> guess = first_guesses_.target(address);
    std::uint64_t predicted = guess.value_or(last);
    if (table_found >= 0) {
        const auto table = static_cast<std::size_t>(table_found);
        auto* entry = tagged_targets_[table].change(place(table));
        std::uint64_t confidence = entry[1] & confidence_mask;
        if (confidence > 0 || !guess) predicted = entry[0];
        const bool is_right = entry[0] == target;
        if (!is_right && confidence == 0) entry[0] = target;
        train(confidence, is_right, most_confident);
        entry[1] = (entry[1] & ~confidence_mask) | confidence;
    }
    if (table_found < 0 || predicted != target) last = target;
    const core::Foretold by_guess = first_guesses_.learn(address, target, predicted == target);
    if (is_new) {
        ++unknown_;
        return unknown_is_missed_ ? core::Foretold::wrong : core::Foretold::right;
    }
    // Where it goes without a history is known at once, where it goes after this one later.
    const bool is_late = elsewhere && !first_guesses_.are_made();
    if (predicted == target) return is_late ? core::Foretold::late : by_guess;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    const std::size_t first = static_cast<std::size_t>(table_found + 1) + (random_ & 1);
    for (std::size_t table = first; table < tagged_targets_.size(); ++table) {
        auto* entry = tagged_targets_[table].change(place(table));
        if (entry[1] & confidence_mask) {
            --entry[1];
            continue;
        }
        entry[0] = target;
        entry[1] = tag(table) << tag_at;
        break;
    }
    return core::Foretold::wrong;
}

}  // namespace tmaprobe::model
