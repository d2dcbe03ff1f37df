#pragma once

// What a load gets from a store that has not left the store buffer.

#include <cstdint>
#include <iterator>
#include <vector>

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
    bool plain = false;      ///< of a whole general register: a core that renames memory can tell
    std::int8_t base = -1;   ///< register of its address
    std::int64_t displacement = 0;
    std::uint32_t step = 0;  ///< of the trace
};

/// The last store to each eight bytes of memory, as far as a table of a fixed size knows.
class StoreForwarding {
  public:
    StoreForwarding() : places_(entries) {}
    /// The youngest store that writes any of these bytes; null: none. `whole`: it writes all of them.
    const RecentStore* find(std::uint64_t address, unsigned bytes, bool& whole) const;
    void add(const RecentStore& store);

  private:
    static constexpr std::size_t entries = 1024, place_bytes = 8;
    static bool overlap(const RecentStore& store, std::uint64_t address, unsigned bytes) {
        return store.bytes && store.address < address + bytes && address < store.address + store.bytes;
    }
    std::vector<RecentStore> places_;
    std::uint64_t stores_ = 0;
};

/// The last store to each eight bytes of a page, whichever page: what a core compares first.
class PagePlaces {
  public:
    PagePlaces() : places_(page_bytes / place_bytes) {}
    /// The youngest store to another page at a place that these bytes have in theirs; null: none.
    const RecentStore* find(std::uint64_t address, unsigned bytes) const;
    void add(const RecentStore& store);

  private:
    static constexpr std::uint64_t page_bytes = 4096, place_bytes = 8;
    std::vector<RecentStore> places_;
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
