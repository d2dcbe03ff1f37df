#include "counters/model/set_associative.h"

#include <algorithm>

namespace tmaprobe::counters::model {

SetAssociative::SetAssociative(std::uint64_t entries, int ways, Replacement replacement) : replacement_(replacement) {
    if (entries == 0) return;
    ways_ = ways <= 0 ? entries : std::min<std::uint64_t>(static_cast<std::uint64_t>(ways), entries);
    sets_ = std::max<std::uint64_t>(1, entries / ways_);
    keys_.assign(sets_ * ways_, nothing);
}

bool SetAssociative::find(std::uint64_t key) {
    if (keys_.empty()) return false;
    std::uint64_t* set = set_of(key);
    std::uint64_t* found = std::find(set, set + ways_, key);
    if (found == set + ways_) return false;
    if (replacement_ == Replacement::least_recent) std::rotate(set, found, found + 1);
    return true;
}

std::size_t SetAssociative::choice() {
    // Xorshift: the same choices in every run.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_ % ways_;
}

std::optional<std::uint64_t> SetAssociative::insert(std::uint64_t key) {
    if (keys_.empty()) return {};
    std::uint64_t* set = set_of(key);
    std::uint64_t* last = set + ways_ - 1;
    std::uint64_t* out = *last == nothing || replacement_ == Replacement::least_recent ? last : set + choice();
    const std::uint64_t evicted = *out;
    std::copy_backward(set, out, out + 1);
    *set = key;
    if (evicted == nothing) return {};
    return evicted;
}

void SetAssociative::erase(std::uint64_t key) {
    if (keys_.empty()) return;
    std::uint64_t* set = set_of(key);
    std::uint64_t* found = std::find(set, set + ways_, key);
    if (found == set + ways_) return;
    std::copy(found + 1, set + ways_, found);
    set[ways_ - 1] = nothing;
}

}  // namespace tmaprobe::counters::model
