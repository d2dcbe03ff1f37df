#include "counters/model/set_associative.h"

#include <algorithm>

namespace tmaprobe::counters::model {

SetAssociative::SetAssociative(std::uint64_t entries, int ways, Replacement replacement) : replacement_(replacement) {
    if (entries == 0) return;
    ways_ = ways <= 0 ? entries : std::min<std::uint64_t>(static_cast<std::uint64_t>(ways), entries);
    sets_ = std::max<std::uint64_t>(1, entries / ways_);
    keys_ = SharedRows<std::uint64_t>(sets_, ways_, nothing);
}

std::size_t SetAssociative::place_of(std::uint64_t key) const {
    const std::uint64_t* set = ways_ ? keys_.look(key % sets_) : nullptr;
    return set ? static_cast<std::size_t>(std::find(set, set + ways_, key) - set) : ways_;
}

bool SetAssociative::find(std::uint64_t key) {
    const std::size_t place = place_of(key);
    if (place == ways_) return false;
    if (place > 0 && replacement_ == Replacement::least_recent) {
        std::uint64_t* set = keys_.change(key % sets_);
        std::rotate(set, set + place, set + place + 1);
    }
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
    if (ways_ == 0) return {};
    std::uint64_t* set = keys_.change(key % sets_);
    std::uint64_t* last = set + ways_ - 1;
    std::uint64_t* out = *last == nothing || replacement_ == Replacement::least_recent ? last : set + choice();
    const std::uint64_t evicted = *out;
    std::copy_backward(set, out, out + 1);
    *set = key;
    if (evicted == nothing) return {};
    return evicted;
}

void SetAssociative::erase(std::uint64_t key) {
    const std::size_t place = place_of(key);
    if (place == ways_) return;
    std::uint64_t* set = keys_.change(key % sets_);
    std::copy(set + place + 1, set + ways_, set + place);
    set[ways_ - 1] = nothing;
}

}  // namespace tmaprobe::counters::model
