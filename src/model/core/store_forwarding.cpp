#include "model/core/store_forwarding.h"

#include <algorithm>

#include "base/hash.h"

namespace tmaprobe::model::core {
namespace {

// Of known paths.
constexpr unsigned history_bits = 64, unused_bits = 8, ways = 8;

}  // namespace

const RecentStore* StoreForwarding::find(std::uint64_t address, unsigned count, bool& whole) const {
    const RecentStore* youngest = nullptr;
    bool all_of_one = true;
    for (std::uint64_t at = address; at < address + std::max(1u, count); ++at) {
        const std::uint64_t number = last_[at % bytes];
        const RecentStore& store = stores_[number % most_stores];
        // Another byte with the same low bits, or too long ago.
        if (!number || store.number != number || at < store.address || at >= store.address + store.bytes) {
            all_of_one = false;
            continue;
        }
        if (youngest && youngest->number != number) all_of_one = false;
        if (!youngest || number > youngest->number) youngest = &store;
    }
    whole = youngest && all_of_one;
    return youngest;
}

bool ForwardingPredictor::foretells(std::uint64_t instruction, std::uint64_t stores_since) {
    if (entries_.empty()) return false;
    Entry* entry = entries_.data();
    for (Entry& each : entries_) {
        if (each.instruction == instruction) {
            entry = &each;
            break;
        }
        if (each.used < entry->used) entry = &each;
    }
    const bool known = entry->instruction == instruction && entry->stores_since == stores_since;
    const bool foretold = known && entry->seen >= sure;
    *entry = {instruction, stores_since, ++uses_, known ? entry->seen + 1 : 1};
    return foretold;
}

KnownPaths::KnownPaths(unsigned paths, unsigned branches)
    : known_(paths, ways), knows_all_(paths == 0), bits_each_(history_bits / std::clamp(branches, 2u, 64u)) {}

void KnownPaths::took(std::uint64_t branch) {
    if (knows_all_) return;
    // Twice, so that branches at regular distances leave no regular bits.
    const std::uint64_t mixed = branch * golden_factor, digest = (mixed ^ mixed >> 29) * golden_factor;
    last_ = last_ << bits_each_ | digest >> (history_bits - bits_each_);
    is_known_ = known_.touch((last_ * golden_factor) >> unused_bits);
}

const PagePlaces::Store* PagePlaces::find(std::uint64_t address, unsigned bytes) const {
    const Store* youngest = nullptr;
    const std::uint64_t last = (address + std::max(1u, bytes) - 1) / place_bytes;
    for (std::uint64_t place = address / place_bytes; place <= last; ++place) {
        const Store& store = places_[place % places_.size()];
        // How far the load's first byte is behind the store's, and the store's behind the load's, in a page.
        const std::uint64_t behind = (address - store.address) % page_bytes,
                            before = (store.address - address) % page_bytes;
        const bool same_place = store.bytes && (behind < store.bytes || before < bytes);
        const bool same_bytes = address < store.address + store.bytes && store.address < address + bytes;
        if (same_place && !same_bytes && (!youngest || store.number > youngest->number)) youngest = &store;
    }
    return youngest;
}

}  // namespace tmaprobe::model::core
