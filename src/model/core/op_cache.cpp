#include "model/core/op_cache.h"

#include <algorithm>
#include <utility>

namespace tmaprobe::model::core {

OpCache::OpCache(const events::CoreGeometry& core)
    : window_bytes_(core.op_cache_window_bytes),
      entry_instructions_(core.op_cache_entry_instructions),
      ways_(std::max(1u, core.op_cache_ways)),
      among_(std::max(1u, core.op_cache_makes_room_among)),
      window_of_end_(core.op_cache_window_of_end),
      is_there_at_all_(core.op_cache_windows > 0),
      sets_(std::max<std::size_t>(1, core.op_cache_windows / ways_)) {}

OpCache::Place OpCache::fetch(std::uint64_t address, unsigned length) {
    if (!is_there_at_all_) return {};
    const bool goes_on = std::exchange(next_, address + length) == address;
    // Most instructions are in the window of the one before: no division for these.
    const std::uint64_t in_window = window_of_end_ ? next_ - 1 : address;
    const bool begins_window = !goes_on || in_window - window_begin_ >= window_bytes_;
    const bool is_full = entry_instructions_ && in_entry_ == entry_instructions_;
    if (!begins_window && !is_full) {
        ++in_entry_;
        return {};
    }
    if (is_new_) keep_last();
    const std::uint64_t window = in_window / window_bytes_;
    window_begin_ = window * window_bytes_;
    entry_begin_ = entry_instructions_ ? address : window_begin_;
    in_entry_ = 1;
    is_new_ = !find(set_of(window), entry_begin_);
    return {begins_window, true, goes_on, !is_new_};
}

bool OpCache::find(Set& set, std::uint64_t begin) {
    const auto found = std::ranges::find(set, begin, &Entry::begin);
    if (found == set.end()) return false;
    if (among_ < set.size()) std::rotate(set.begin(), found, found + 1);
    return true;
}

/// Whether half of a way is enough for an entry is known when it has ended.
void OpCache::keep_last() {
    Set& set = set_of(window_begin_ / window_bytes_);
    const Entry entry{entry_begin_, entry_instructions_ && in_entry_ <= entry_instructions_ / 2 ? 1u : 2u};
    std::size_t halves = entry.halves;
    for (const Entry& other : set) halves += other.halves;
    while (halves > 2 * ways_) {
        const auto out = set.end() - 1 - static_cast<std::ptrdiff_t>(random_.below(std::min(among_, set.size())));
        halves -= out->halves;
        set.erase(out);
    }
    set.insert(set.begin(), entry);
}

}  // namespace tmaprobe::model::core
