#include "model/branch_predictor.h"

#include <algorithm>
#include <utility>

#include "model/core/descriptor.h"

namespace tmaprobe::model {
namespace {

constexpr std::size_t by_address_bits = 14, table_size = std::size_t{1} << BranchHistory::index_bits;
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
constexpr std::size_t return_stack = 32;
constexpr int target_ways = 8;
constexpr std::uint8_t weakly_taken = 2, strongest = 3, never_met = 0xff;
constexpr std::uint64_t no_target = 0;

// An entry of a tagged table.
constexpr std::uint32_t counter_mask = 7, counter_taken = 4, counter_most = 7, counter_weak_taken = 4,
                        counter_weak_not = 3;
constexpr unsigned use_shift = 3, tag_shift = 8;
constexpr std::uint32_t use_mask = 3u << use_shift, empty = ~0u;

std::size_t by_address(std::uint64_t address) {
    return static_cast<std::size_t>((address * golden) >> (64 - by_address_bits));
}

/// What a table of targets finds a branch by. `sets`: those of a table in which calls and returns clash that lie at the
/// same place of lines a power of 2 apart; 0: it finds all by a mixture of their address's bits.
std::uint64_t key(const trace::StaticInstruction& branch, std::uint64_t sets) {
    if ((branch.call || branch.returns) && sets) {
        const std::uint64_t line = branch.address / core::line_bytes, place = branch.address % core::line_bytes;
        constexpr std::uint64_t scatter = 61;
        return (line / sets * core::line_bytes + place) * sets + (line + place * scatter) % sets;
    }
    constexpr unsigned kept_bits = 40;
    return (branch.address * golden) >> (64 - kept_bits);
}

template <class Number>
void train(Number& counter, bool up, Number most) {
    if (up && counter < most) ++counter;
    if (!up && counter > 0) --counter;
}

bool is_taken(std::uint32_t entry) { return (entry & counter_mask) >= counter_taken; }
bool is_weak(std::uint32_t entry) {
    return (entry & counter_mask) == counter_weak_taken || (entry & counter_mask) == counter_weak_not;
}
std::uint32_t use_of(std::uint32_t entry) { return (entry & use_mask) >> use_shift; }
std::uint32_t tag_of(std::uint32_t entry) { return entry >> tag_shift; }
std::uint32_t with_use(std::uint32_t entry, std::uint32_t use) { return (entry & ~use_mask) | use << use_shift; }
std::uint32_t trained(std::uint32_t entry, bool taken) {
    std::uint32_t counter = entry & counter_mask;
    train(counter, taken, counter_most);
    return (entry & ~counter_mask) | counter;
}

}  // namespace

void BranchHistory::shift_in(bool bit) {
    newest_ = (newest_ + 1) % kept_bits;
    bits_[newest_] = bit;
    const auto shift = [&]<std::size_t table, std::size_t fold>() {
        constexpr unsigned length = lengths[table], width = fold_bits[fold];
        const std::uint32_t leaves = bits_[(newest_ + kept_bits - length) % kept_bits];
        std::uint32_t& folded = folded_[table][fold];
        folded = folded << 1 | (bit ? 1u : 0u);
        folded ^= leaves << (length % width);
        folded ^= folded >> width;
        folded &= (1u << width) - 1;
    };
    // One after another, with lengths that the compiler knows: most of a predictor's time goes here.
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        (shift.template operator()<i / folds, i % folds>(), ...);
    }(std::make_index_sequence<tables * folds>());
}

void BranchHistory::add(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) {
    if (branch.conditional) return shift_in(taken);
    if (!branch.call && !branch.returns && !branch.indirect) return;
    // Of the position in a page, which is the same in every run; enough bits to tell the operations of an interpreter
    // apart.
    constexpr std::uint64_t in_page = 4095;
    constexpr unsigned footprint_bits = 6;
    const std::uint64_t footprint = ((branch.address & in_page) << 12 ^ (target & in_page)) * golden;
    for (unsigned bit = 1; bit <= footprint_bits; ++bit) shift_in(footprint >> (64 - bit) & 1);
}

void BranchHistory::add_bits(std::uint64_t address, unsigned first_bit, unsigned bits) {
    for (unsigned bit = first_bit; bit < first_bit + bits; ++bit) shift_in(address >> bit & 1);
}

std::uint32_t BranchHistory::index(std::size_t table, std::uint64_t address) const {
    const auto hashed = static_cast<std::uint32_t>((address * golden) >> (40 - table));
    return (hashed ^ hashed >> index_bits ^ folded_[table][0]) & ((1u << index_bits) - 1);
}

std::uint32_t BranchHistory::tag(std::size_t table, std::uint64_t address) const {
    const auto hashed = static_cast<std::uint32_t>((address * golden) >> 24);
    return (hashed ^ folded_[table][1] ^ folded_[table][2] << 1) & ((1u << tag_bits) - 1);
}

BranchTargets::BranchTargets(const events::BranchForetelling& foretelling)
    : has_first_(foretelling.first_level_targets > 0),
      has_second_(foretelling.second_level_targets > 0),
      first_sets_(foretelling.calls_by_line ? foretelling.first_level_targets / target_ways : 0),
      second_sets_(foretelling.calls_by_line ? foretelling.second_level_targets / target_ways : 0),
      first_(foretelling.first_level_targets, target_ways, SetAssociative::Replacement::random),
      second_(foretelling.second_level_targets, target_ways, SetAssociative::Replacement::random),
      met_(std::size_t{1} << by_address_bits, 1, 0) {}

BranchTargets::Found BranchTargets::find(const trace::StaticInstruction& branch) {
    using enum core::TargetKnown;
    if (!has_first_) return {};
    const std::uint64_t in_first_as = key(branch, first_sets_), in_second_as = key(branch, second_sets_);
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
    : tagged_(BranchHistory::tables, SharedRows<std::uint32_t>(table_size, 1, empty)),
      tagged_targets_(BranchHistory::tables, SharedRows<std::uint64_t>(table_size, 2, no_target)),
      by_address_(std::size_t{1} << by_address_bits, 1, never_met),
      targets_(std::size_t{1} << by_address_bits, 1, no_target),
      known_targets_(core.foretelling),
      history_bits_(core.history_bits),
      history_first_bit_(core.history_first_bit) {}

bool BranchPredictor::mispredicts(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) {
    bool missed = false;
    if (branch.conditional)
        missed = conditional(branch, taken);
    else if (branch.returns)
        missed = returns(target);
    else if (branch.indirect)
        missed = indirect(branch.address, target);
    if (branch.call) {
        if (returns_.size() == return_stack) {
            returns_.erase(returns_.begin());
            ++lost_returns_;
        }
        returns_.push_back(branch.address + branch.length);
    }
    history_.add(branch, taken, target);
    if (history_bits_ && (taken || !branch.conditional))
        of_taken_.add_bits(branch.address + branch.length - 1, history_first_bit_, history_bits_);
    return missed;
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

bool BranchPredictor::conditional(const trace::StaticInstruction& branch, bool taken) {
    const std::uint64_t address = branch.address;
    Found found;
    for (std::size_t table = 0; table < BranchHistory::tables; ++table) {
        at_[table] = history_.index(table, address);
        tags_[table] = history_.tag(table, address);
        const std::uint32_t* entry = tagged_[table].look(at_[table]);
        if (!entry || *entry == empty || tag_of(*entry) != tags_[table]) continue;
        found.other = found.table;
        found.table = static_cast<int>(table);
    }
    std::uint8_t& base = *by_address_.change(by_address(address));
    const bool is_new = base == never_met;
    if (is_new) base = taken ? weakly_taken : weakly_taken - 1;
    const bool by_base = base >= weakly_taken;
    const auto entry_of = [&](int table) -> std::uint32_t& {
        return *tagged_[static_cast<std::size_t>(table)].change(at_[static_cast<std::size_t>(table)]);
    };
    const bool other = found.other >= 0 ? is_taken(entry_of(found.other)) : by_base;
    bool predicted = by_base;
    if (found.table >= 0) {
        std::uint32_t& entry = entry_of(found.table);
        const bool own = is_taken(entry);
        const bool new_entry = is_weak(entry) && use_of(entry) == 0;
        predicted = new_entry && trusts_new_ < 8 ? other : own;
        if (new_entry && own != other) train(trusts_new_, own == taken, 15);
        if (own != other) {
            std::uint32_t use = use_of(entry);
            train(use, own == taken, 3u);
            entry = with_use(entry, use);
        }
        entry = trained(entry, taken);
        if (use_of(entry) == 0 && found.other >= 0) entry_of(found.other) = trained(entry_of(found.other), taken);
        if (use_of(entry) == 0 && found.other < 0) train(base, taken, strongest);
    } else {
        train(base, taken, strongest);
    }
    const bool last_was_right = found.table >= 0 && is_taken(entry_of(found.table)) == taken && predicted == taken;
    if (predicted != taken && !last_was_right) allocate(found, taken);
    if (!is_new) return predicted != taken;
    ++unknown_;
    const bool backwards = branch.target && branch.target <= address;
    return unknown_is_missed_ && backwards != taken;
}

void BranchPredictor::allocate(Found found, bool taken) {
    const auto longer = static_cast<std::size_t>(found.table + 1);
    if (longer >= BranchHistory::tables) return;
    // Xorshift: the same choices in every run.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    const std::size_t first = std::min(longer + (random_ & 1), BranchHistory::tables - 1);
    for (std::size_t table = first; table < BranchHistory::tables; ++table) {
        std::uint32_t& entry = *tagged_[table].change(at_[table]);
        if (entry != empty && use_of(entry) > 0) continue;
        entry = tags_[table] << tag_shift | (taken ? counter_weak_taken : counter_weak_not);
        return;
    }
    for (std::size_t table = first; table < BranchHistory::tables; ++table) {
        std::uint32_t& entry = *tagged_[table].change(at_[table]);
        entry = with_use(entry, use_of(entry) - 1);
    }
}

bool BranchPredictor::indirect(std::uint64_t address, std::uint64_t target) {
    // First word: the target; second: the tag and one, then two bits of confidence.
    constexpr std::uint64_t confidence_mask = 3, most_confident = 3;
    constexpr unsigned tag_at = 2;
    int table_found = -1;
    const BranchHistory& history = history_bits_ ? of_taken_ : history_;
    for (std::size_t table = 0; table < BranchHistory::tables; ++table) {
        at_[table] = history.index(table, address);
        tags_[table] = history.tag(table, address) + 1;
        const std::uint64_t* entry = tagged_targets_[table].look(at_[table]);
        if (entry && entry[1] >> tag_at == tags_[table]) table_found = static_cast<int>(table);
    }
    std::uint64_t& last = *targets_.change(by_address(address));
    const bool is_new = last == no_target;
    std::uint64_t predicted = last;
    if (table_found >= 0) {
        auto* entry =
            tagged_targets_[static_cast<std::size_t>(table_found)].change(at_[static_cast<std::size_t>(table_found)]);
        predicted = entry[0];
        std::uint64_t confidence = entry[1] & confidence_mask;
        if (predicted != target && confidence == 0) entry[0] = target;
        train(confidence, predicted == target, most_confident);
        entry[1] = (entry[1] & ~confidence_mask) | confidence;
    }
    if (table_found < 0 || predicted != target) last = target;
    if (is_new) {
        ++unknown_;
        return unknown_is_missed_;
    }
    if (predicted == target) return false;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    const std::size_t first = static_cast<std::size_t>(table_found + 1) + (random_ & 1);
    for (std::size_t table = first; table < BranchHistory::tables; ++table) {
        auto* entry = tagged_targets_[table].change(at_[table]);
        if (entry[1] & confidence_mask) {
            --entry[1];
            continue;
        }
        entry[0] = target;
        entry[1] = std::uint64_t{tags_[table]} << tag_at;
        break;
    }
    return true;
}

}  // namespace tmaprobe::model
