#include "model/core/store_forwarding.h"

#include <algorithm>

namespace tmaprobe::model::core {

const RecentStore* StoreForwarding::find(std::uint64_t address, unsigned bytes, bool& whole) const {
    const RecentStore* youngest = nullptr;
    const std::uint64_t last = (address + std::max(1u, bytes) - 1) / place_bytes;
    bool all_of_one = true;
    for (std::uint64_t place = address / place_bytes; place <= last; ++place) {
        const RecentStore& store = places_[place % entries];
        if (!overlap(store, address, bytes)) {
            all_of_one = false;
            continue;
        }
        if (youngest && youngest->number != store.number) all_of_one = false;
        if (!youngest || store.number > youngest->number) youngest = &store;
    }
    whole = youngest && all_of_one && youngest->address <= address &&
            address + bytes <= youngest->address + youngest->bytes;
    return youngest;
}

void StoreForwarding::add(const RecentStore& store) {
    ++stores_;
    const std::uint64_t last = (store.address + std::max<unsigned>(1, store.bytes) - 1) / place_bytes;
    for (std::uint64_t place = store.address / place_bytes; place <= last; ++place) {
        RecentStore& here = places_[place % entries];
        here = store;
        here.number = stores_;
    }
}

const RecentStore* PagePlaces::find(std::uint64_t address, unsigned bytes) const {
    const RecentStore* youngest = nullptr;
    const std::uint64_t last = (address + std::max(1u, bytes) - 1) / place_bytes;
    for (std::uint64_t place = address / place_bytes; place <= last; ++place) {
        const RecentStore& store = places_[place % places_.size()];
        // How far the load's first byte is behind the store's, and the store's behind the load's, in a page.
        const std::uint64_t behind = (address - store.address) % page_bytes,
                            before = (store.address - address) % page_bytes;
        const bool same_place = store.bytes && (behind < store.bytes || before < bytes);
        const bool same_bytes = address < store.address + store.bytes && store.address < address + bytes;
        if (same_place && !same_bytes && (!youngest || store.number > youngest->number)) youngest = &store;
    }
    return youngest;
}

void PagePlaces::add(const RecentStore& store) {
    ++stores_;
    const std::uint64_t last = (store.address + std::max<unsigned>(1, store.bytes) - 1) / place_bytes;
    for (std::uint64_t place = store.address / place_bytes; place <= last; ++place) {
        RecentStore& here = places_[place % places_.size()];
        here = store;
        here.number = stores_;
    }
}

}  // namespace tmaprobe::model::core
