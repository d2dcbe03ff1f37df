#pragma once

// What a load gets from a store that has not left the store buffer.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "model/core/named_places.h"
#include "model/core/recent_sets.h"

namespace tmaprobe::model::core {

/// An executed store.
struct RecentStore {
    std::uint64_t address = 0;
    std::uint64_t address_at = 0;  ///< the cycle in which its address is known
    std::uint64_t data_at = 0;     ///< the cycle in which its data are in the store buffer
    std::uint64_t source_at = 0;   ///< the cycle in which the register that it stores is known
    std::uint64_t committed = 0;   ///< the cycle in which it leaves the store buffer
    std::uint64_t number = 0;
    std::uint8_t bytes = 0;  ///< 0: none
    bool in_part = false;    ///< as of StoreCommit::Left
    bool plain = false;      ///< of a whole general register: a core that renames memory can tell
    std::int8_t base = -1;   ///< register of its address
    std::int64_t displacement = 0;
    std::uint32_t step = 0;  ///< of the trace
    NamedPlace named;
};

/// The last store to each byte of memory, of the last stores.
class StoreForwarding {
  public:
    StoreForwarding() : stores_(most_stores), last_(bytes, 0) {}
    /// The youngest store that writes any of these bytes; null: none. `whole`: it writes all of them.
    const RecentStore* find(std::uint64_t address, unsigned bytes, bool& whole) const;
    void add(const RecentStore& store) {
        ++number_;
        RecentStore& here = stores_[number_ % most_stores];
        here = store;
        here.number = number_;
        for (unsigned i = 0; i < store.bytes; ++i) last_[(store.address + i) % bytes] = number_;
    }
    /// How many stores there were since.
    std::uint64_t stores_since(const RecentStore& store) const { return number_ - store.number; }

  private:
    static constexpr std::size_t most_stores = 1024, bytes = 8192;
    std::vector<RecentStore> stores_;  ///< by number
    std::vector<std::uint64_t> last_;  ///< number of the last store to a byte, by the low bits of its address
    std::uint64_t number_ = 0;
};

/// Learns how many stores before a load is the one that it gets its data from.
class ForwardingPredictor {
  public:
    explicit ForwardingPredictor(unsigned entries) : entries_(entries) {}
    /// Whether that was foretold of the load at this place in the code; it learns from the answer.
    bool foretells(std::uint64_t instruction, std::uint64_t stores_since);

  private:
    static constexpr unsigned sure = 2;  ///< times that it has to have been so
    struct Entry {
        std::uint64_t instruction = 0, stores_since = 0, used = 0;
        unsigned seen = 0;
    };
    std::vector<Entry> entries_;  ///< the one that was not used for longest gives way
    std::uint64_t uses_ = 0;
};

/// Paths through the code, told apart by the last taken branches: a core that renames memory knows but some of them, on
/// which it foretells which store a load gets its data from.
class KnownPaths {
  public:
    /// `paths` 0: it knows all. `branches`: that tell paths apart, 2 to 64.
    KnownPaths(unsigned paths, unsigned branches);
    void took(std::uint64_t branch);
    /// Whether the path to here is known: it was taken a short while ago, or no branch was taken so far.
    bool is_known() const { return is_known_; }

  private:
    RecentSets known_;
    bool knows_all_, is_known_ = true;
    unsigned bits_each_;
    std::uint64_t last_ = 0;  ///< branches, some bits of each
};

/// The last store to each eight bytes of a page, whichever page: what a core compares first.
class PagePlaces {
  public:
    PagePlaces() : places_(page_bytes / place_bytes) {}
    struct Store {
        std::uint64_t address = 0;
        std::uint64_t address_at = 0, committed = 0;  ///< as of a RecentStore
        std::uint64_t number = 0;
        std::uint8_t bytes = 0;  ///< 0: none
    };
    /// Whether a store to these bytes, or to bytes of the same place in another page, has not left the store buffer by
    /// this cycle. Most loads come after all of those that they could have to do with.
    bool any_buffered(std::uint64_t address, unsigned bytes, std::uint64_t cycle) const {
        const std::uint64_t last = (address + std::max(1u, bytes) - 1) / place_bytes;
        for (std::uint64_t place = address / place_bytes; place <= last; ++place)
            if (places_[place % places_.size()].committed > cycle) return true;
        return false;
    }
    /// The youngest store to another page at a place that these bytes have in theirs; null: none.
    const Store* find(std::uint64_t address, unsigned bytes) const;
    void add(const RecentStore& store) {
        ++stores_;
        const std::uint64_t last = (store.address + std::max<unsigned>(1, store.bytes) - 1) / place_bytes;
        for (std::uint64_t place = store.address / place_bytes; place <= last; ++place)
            places_[place % places_.size()] = {store.address, store.address_at, store.committed, stores_, store.bytes};
    }

  private:
    static constexpr std::uint64_t page_bytes = 4096, place_bytes = 8;
    std::vector<Store> places_;
    std::uint64_t stores_ = 0;
};

/// How many loads of one address there were in a cycle.
class SameAddress {
  public:
    /// Whether one more is served in this cycle; if so it is counted.
    bool serves(std::uint64_t address, std::uint64_t cycle, unsigned most) {
        Entry& entry = entries_[address / 8 % std::size(entries_)];
        if (entry.address != address || entry.cycle != cycle) {
            entry = {address, cycle, 1};
            return true;
        }
        return ++entry.count <= most;
    }

  private:
    struct Entry {
        std::uint64_t address = 0, cycle = 0;
        unsigned count = 0;
    };
    Entry entries_[64];
};

}  // namespace tmaprobe::model::core
