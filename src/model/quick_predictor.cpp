#include "model/quick_predictor.h"

namespace tmaprobe::model {
namespace {

constexpr unsigned by_branch_bits = 14, index_bits = 13, target_bits = 12;
constexpr std::array<unsigned, 3> lengths{8, 20, 60};
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u, other_odd = 0xff51afd7ed558ccdu;
constexpr std::uint8_t strongest = 3, weakly_taken = 2, never_met = 0xff, counter_most = 7, counter_taken = 4;

template <class Number>
void train(Number& counter, bool up, Number most) {
    if (up && counter < most) ++counter;
    if (!up && counter > 0) --counter;
}

}  // namespace

QuickPredictor::QuickPredictor()
    : by_branch_(std::size_t{1} << by_branch_bits, never_met), targets_(std::size_t{1} << target_bits) {
    for (auto& table : tagged_) table.resize(std::size_t{1} << index_bits);
}

bool QuickPredictor::conditional(std::uint64_t branch, bool taken) {
    std::uint8_t& base = by_branch_[(branch * golden) >> (64 - by_branch_bits)];
    const bool is_new = base == never_met;
    if (is_new) base = taken ? weakly_taken : weakly_taken - 1;
    std::array<Entry*, tables> entries;
    std::array<std::uint16_t, tables> tags;
    Entry *found = nullptr, *other = nullptr;
    std::size_t next = 0;
    for (std::size_t i = 0; i < tables; ++i) {
        const std::uint64_t recent = history_ & ((std::uint64_t{1} << lengths[i]) - 1);
        const std::uint64_t hash = (branch ^ (recent + i + 1) * golden) * other_odd;
        entries[i] = &tagged_[i][hash >> (64 - index_bits)];
        tags[i] = static_cast<std::uint16_t>(hash >> 16 | 1);
        if (entries[i]->tag != tags[i]) continue;
        other = found;
        found = entries[i];
        next = i + 1;
    }
    const bool by_base = base >= weakly_taken;
    const bool by_other = other ? other->counter >= counter_taken : by_base;
    // What is new there has yet to show that it does better.
    const bool is_weak = found && found->use == 0 && (found->counter == 3 || found->counter == 4);
    const bool predicted = found && !is_weak ? found->counter >= counter_taken : by_other;
    if (found) {
        const bool own = found->counter >= counter_taken;
        if (own != by_other) train<std::uint8_t>(found->use, own == taken, strongest);
        train(found->counter, taken, counter_most);
    }
    if (!found || found->use == 0) train(other ? other->counter : base, taken, other ? counter_most : strongest);
    if (predicted != taken)
        for (; next < tables; ++next) {
            Entry& entry = *entries[next];
            if (entry.use > 0) {
                --entry.use;
                continue;
            }
            entry = {tags[next], static_cast<std::uint8_t>(taken ? counter_taken : counter_taken - 1), 0};
            break;
        }
    history_ = history_ << 1 | (taken ? 1 : 0);
    return !is_new && predicted != taken;
}

bool QuickPredictor::indirect(std::uint64_t branch, std::uint64_t target) {
    constexpr std::uint64_t recent = 0xffff;
    constexpr unsigned footprint_bits = 4;
    std::uint64_t& known = targets_[((branch ^ (history_ & recent) * golden) * other_odd) >> (64 - target_bits)];
    const bool missed = known != 0 && known != target;
    known = target;
    history_ = history_ << footprint_bits ^ (target * golden) >> (64 - footprint_bits);
    return missed;
}

}  // namespace tmaprobe::model
