#include "model/core/retirement.h"

#include <algorithm>
#include <bit>

namespace tmaprobe::model::core {

// Instructions that take no micro-op of their own, the first halves of fused pairs, are in the ring too.
Retirement::Retirement(unsigned reorder_buffer, unsigned width, unsigned room_cycles)
    : capacity_(std::max(1u, reorder_buffer)),
      width_(std::max(1u, width)),
      room_cycles_(room_cycles),
      mask_(std::bit_ceil<std::uint64_t>(2 * capacity_ + 64) - 1),
      ring_(mask_ + 1) {}

std::uint64_t Retirement::room_at(std::uint64_t micro_ops) {
    std::uint64_t cycle = 0;
    while (full_ < end_ && micro_ops_ - freed_ + micro_ops > capacity_) {
        cycle = at(full_).retires;
        freed_ = at(full_).micro_ops_until;
        ++full_;
    }
    // One that retired long ago made the room that is used now.
    return cycle ? cycle : full_ ? at(full_ - 1).retires : 0;
}

const InFlight* Retirement::oldest(std::uint64_t cycle) {
    while (oldest_ < end_ && at(oldest_).retires <= cycle) ++oldest_;
    return oldest_ < end_ ? &at(oldest_) : nullptr;
}

}  // namespace tmaprobe::model::core
