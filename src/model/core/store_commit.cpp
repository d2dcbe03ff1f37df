#include "model/core/store_commit.h"

#include <algorithm>

#include "model/core/descriptor.h"

namespace tmaprobe::model::core {
namespace {

std::uint64_t bits(std::uint64_t from, std::uint64_t count) {
    return (count >= line_bytes ? ~0ull : (1ull << count) - 1) << from;
}

}  // namespace

StoreCommit::Left StoreCommit::leaves(std::uint64_t address, unsigned bytes, std::uint64_t owned) {
    const std::uint64_t last = address + bytes - 1, block = address / core_.store_block_bytes,
                        last_block = last / core_.store_block_bytes;
    const bool together = block == block_ && in_cycle_ < core_.stores_committed;
    std::uint64_t cycle = std::max(owned, last_cycle_ + (together ? 0 : 1));
    if (last_block != block) ++cycle;
    Left left{cycle};
    if (const unsigned unit = core_.part_stores.unit_bytes) {
        left.in_part = !completes_units(address, bytes, block == block_);
        if (block != block_ && comes_too_soon(address / unit, last / unit, cycle))
            left.cycle = cycle += core_.part_stores.again_cycles;
        if (left.in_part) in_part_[number_in_part_++ % in_part_.size()] = {address / unit, last / unit, cycle};
    }
    in_cycle_ = cycle == last_cycle_ ? in_cycle_ + 1 : 1;
    block_ = last_block;
    last_cycle_ = cycle;
    left.cycle += core_.store_leaves_after_cycles;
    return left;
}

/// With those to the same block just before it, to which it is added. Of a store to two lines only its own bytes count.
bool StoreCommit::completes_units(std::uint64_t address, unsigned bytes, bool follows) {
    if (!follows) written_ = 0;
    const std::uint64_t unit = core_.part_stores.unit_bytes, end = address + bytes;
    if (address % unit == 0 && end % unit == 0) return true;
    const std::uint64_t line = address / line_bytes, from = address % line_bytes;
    if (from + bytes > line_bytes) return false;
    if (line != written_line_) written_ = 0;
    written_line_ = line;
    written_ |= bits(from, bytes);
    const std::uint64_t first = from / unit * unit, behind = (from + bytes + unit - 1) / unit * unit;
    const std::uint64_t asked = bits(first, behind - first);
    return (written_ & asked) == asked;
}

/// After one that fills the same unit in part.
bool StoreCommit::comes_too_soon(std::uint64_t first, std::uint64_t last, std::uint64_t cycle) const {
    return std::ranges::any_of(in_part_, [&](const Unit& before) {
        return before.cycle + core_.part_stores.again_within >= cycle && before.first <= last && first <= before.last;
    });
}

}  // namespace tmaprobe::model::core
