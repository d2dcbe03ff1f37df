#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

namespace tmaprobe::trace {

/// The blocks that a program has of its allocator, by address, and what each belongs to: a number below 2^24, which is
/// its owner's. Adding and removing one costs a look or two into memory, also among millions.
class HeapBlocks {
  public:
    /// Of one owner. The bytes of blocks below 4 KiB count in steps of 16.
    struct Sum {
        std::uint64_t blocks = 0, bytes = 0;
    };
    static constexpr std::uint32_t most_owners = std::uint32_t{1} << 24;

    /// What was known of these addresses is known no more.
    void add(std::uint64_t begin, std::uint64_t bytes, std::uint32_t owner);
    /// The block that begins there is none any more; nothing happens where none does.
    void remove(std::uint64_t begin);
    void clear();

    /// Of the block that an address is in; 0: it is in none.
    std::uint32_t owner_at(std::uint64_t address) const;
    Sum sum_of(std::uint32_t owner) const { return owner < sums_.size() ? sums_[owner] : Sum{}; }

    /// From here on blocks that are removed stay, until others lie there or drop_removed() is called: what is simulated
    /// later still finds them.
    void keep_removed() { keeps_removed_ = true; }
    void drop_removed();

  private:
    static constexpr std::uint64_t unit = 16;  ///< bytes: as far apart as allocators place blocks
    static constexpr std::uint64_t page_bytes = 4096, units_of_page = page_bytes / unit;
    /// Of each unit of a page: that a small block begins there, its owner and its units (8 bits); else 0.
    using Page = std::array<std::uint32_t, units_of_page>;
    static constexpr std::uint64_t most_units = 255;
    static constexpr std::size_t most_pages = std::size_t{1} << 20;  ///< more have no room: 1 GiB of them

    struct Large {
        std::uint64_t end = 0;
        std::uint32_t owner = 0;
    };

    Page* page_at(std::uint64_t number) const;
    std::uint32_t* begin_at(std::uint64_t unit_number) const;
    void take(std::uint32_t& small);
    void take(std::map<std::uint64_t, Large>::iterator large);
    void take_all(std::uint64_t begin, std::uint64_t end);
    Sum& sum(std::uint32_t owner);

    std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
    mutable std::uint64_t last_number_ = ~std::uint64_t{0};
    mutable Page* last_page_ = nullptr;
    std::map<std::uint64_t, Large> large_;  ///< by begin
    std::vector<Sum> sums_;
    bool keeps_removed_ = false;
    std::set<std::uint64_t> removed_;
};

}  // namespace tmaprobe::trace
