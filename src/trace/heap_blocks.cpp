#include "trace/heap_blocks.h"

#include <algorithm>

namespace tmaprobe::trace {
namespace {

constexpr unsigned owner_bits = 8;  ///< below these: how many units

}  // namespace

HeapBlocks::Sum& HeapBlocks::sum(std::uint32_t owner) {
    if (owner >= sums_.size()) sums_.resize(std::max<std::size_t>(owner + 1, 2 * sums_.size()));
    return sums_[owner];
}

HeapBlocks::Page* HeapBlocks::page_at(std::uint64_t number) const {
    if (number == last_number_) return last_page_;
    const auto found = pages_.find(number);
    if (found == pages_.end()) return nullptr;
    last_number_ = number;
    return last_page_ = found->second.get();
}

std::uint32_t* HeapBlocks::begin_at(std::uint64_t unit_number) const {
    Page* const page = page_at(unit_number / units_of_page);
    return page ? &(*page)[unit_number % units_of_page] : nullptr;
}

void HeapBlocks::take(std::uint32_t& small) {
    Sum& of_owner = sum(small >> owner_bits);
    --of_owner.blocks;
    of_owner.bytes -= (small & most_units) * unit;
    small = 0;
}

void HeapBlocks::take(std::map<std::uint64_t, Large>::iterator large) {
    Sum& of_owner = sum(large->second.owner);
    --of_owner.blocks;
    of_owner.bytes -= large->second.end - large->first;
    large_.erase(large);
}

/// Of a block that nobody saw removed, some bytes may be another's by now.
void HeapBlocks::take_all(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t last = (end - 1) / unit;
    for (std::uint64_t number = begin / unit; number <= last;) {
        Page* const page = page_at(number / units_of_page);
        const std::uint64_t next_page = (number / units_of_page + 1) * units_of_page;
        if (page)
            for (std::uint64_t at = number; at <= std::min(last, next_page - 1); ++at)
                if (std::uint32_t& small = (*page)[at % units_of_page]; small) take(small);
        number = next_page;
    }
    auto large = large_.lower_bound(begin);
    if (large != large_.begin() && std::prev(large)->second.end > begin) --large;
    while (large != large_.end() && large->first < end) take(large++);
}

void HeapBlocks::add(std::uint64_t begin, std::uint64_t bytes, std::uint32_t owner) {
    if (owner == 0 || owner >= most_owners || begin % unit != 0 || begin + bytes < begin) return;
    const std::uint64_t units = std::max<std::uint64_t>(1, bytes / unit + (bytes % unit != 0));
    take_all(begin, begin + std::max<std::uint64_t>(bytes, 1));
    if (!removed_.empty()) removed_.erase(removed_.lower_bound(begin), removed_.lower_bound(begin + units * unit));
    if (units > most_units) {
        large_[begin] = {begin + bytes, owner};
        Sum& of_owner = sum(owner);
        ++of_owner.blocks;
        of_owner.bytes += bytes;
        return;
    }
    std::uint32_t* small = begin_at(begin / unit);
    if (!small) {
        if (pages_.size() >= most_pages) return;
        pages_.emplace(begin / page_bytes, std::make_unique<Page>());
        small = begin_at(begin / unit);
    }
    *small = owner << owner_bits | static_cast<std::uint32_t>(units);
    Sum& of_owner = sum(owner);
    ++of_owner.blocks;
    of_owner.bytes += units * unit;
}

void HeapBlocks::remove(std::uint64_t begin) {
    if (keeps_removed_) {
        removed_.insert(begin);
        return;
    }
    if (begin % unit == 0)
        if (std::uint32_t* const small = begin_at(begin / unit); small && *small) return take(*small);
    if (const auto large = large_.find(begin); large != large_.end()) take(large);
}

void HeapBlocks::drop_removed() {
    keeps_removed_ = false;
    for (const std::uint64_t begin : removed_) remove(begin);
    removed_.clear();
}

void HeapBlocks::clear() { *this = HeapBlocks(); }

std::uint32_t HeapBlocks::owner_at(std::uint64_t address) const {
    const std::uint64_t number = address / unit;
    // The nearest small block that begins at or before it, if it is as long.
    for (std::uint64_t back = 0; back < most_units && back <= number; ++back) {
        const std::uint32_t* const small = begin_at(number - back);
        if (!small) {
            back += (number - back) % units_of_page;  // no small block begins in all of that page
            continue;
        }
        if (!*small) continue;
        if (back < (*small & most_units)) return *small >> owner_bits;
        break;
    }
    const auto after = large_.upper_bound(address);
    if (after == large_.begin()) return 0;
    const auto& [begin, large] = *std::prev(after);
    return address < large.end ? large.owner : 0;
}

}  // namespace tmaprobe::trace
