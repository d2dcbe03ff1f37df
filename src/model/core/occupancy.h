#pragma once

// How full a scheduler is.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace tmaprobe::model::core {

/// Entries that are taken at renaming, in order, and given back at cycles that are known by then, in any order.
class Occupancy {
  public:
    explicit Occupancy(unsigned capacity) : capacity_(capacity) {}

    /// The first cycle, at `cycle` or later, in which `entries` more have room.
    std::uint64_t room_at(std::uint64_t cycle, unsigned entries) {
        entries = std::min(entries, capacity_);
        // What was given back in between is only asked for when it is needed.
        if (occupied_ + entries <= capacity_) return cycle;
        advance(cycle);
        while (occupied_ + entries > capacity_ && occupied_ > 0) advance(next_release());
        return std::max(cycle, now_);
    }
    bool has_room_at(std::uint64_t cycle, unsigned entries) {
        entries = std::min(entries, capacity_);
        if (occupied_ + entries > capacity_) advance(cycle);
        return occupied_ + entries <= capacity_;
    }
    unsigned occupied_at(std::uint64_t cycle) {
        advance(cycle);
        return occupied_;
    }
    /// Quick: false only if it is not.
    bool may_be_half_full() const { return 2 * occupied_ >= capacity_; }
    void take(std::uint64_t until) {
        ++occupied_;
        if (until <= now_) until = now_ + 1;
        if (until >= now_ + window)
            later_.push(until);
        else
            note(until);
    }
    /// The cycle in which the next of what is taken is given back, after what was asked about last.
    std::uint64_t next_release() const {
        for (std::uint64_t cycle = now_ + 1; cycle < now_ + window;) {
            const std::uint64_t bits = any_[cycle / 64 % words] & (~std::uint64_t{0} << (cycle % 64));
            if (bits) return cycle / 64 * 64 + static_cast<unsigned>(std::countr_zero(bits));
            cycle = (cycle / 64 + 1) * 64;
        }
        return later_.empty() ? now_ + 1 : later_.top();
    }

  private:
    static constexpr std::size_t words = 16, window = words * 64;

    void note(std::uint64_t cycle) {
        ++released_[cycle % window];
        any_[cycle / 64 % words] |= std::uint64_t{1} << (cycle % 64);
    }
    void advance(std::uint64_t cycle) {
        if (cycle <= now_) return;
        const std::uint64_t last = std::min(cycle, now_ + window - 1);
        for (std::uint64_t from = now_ + 1; from <= last; from = (from / 64 + 1) * 64) {
            std::uint64_t& word = any_[from / 64 % words];
            const std::uint64_t behind = last / 64 == from / 64 ? 63 - last % 64 : 0;
            const std::uint64_t passed = word & ~std::uint64_t{0} << from % 64 & ~std::uint64_t{0} >> behind;
            word ^= passed;
            for (std::uint64_t left = passed; left; left &= left - 1) {
                std::uint16_t& here =
                    released_[(from / 64 * 64 + static_cast<unsigned>(std::countr_zero(left))) % window];
                occupied_ -= std::exchange(here, std::uint16_t{0});
            }
        }
        now_ = cycle;
        for (; !later_.empty() && later_.top() < now_ + window; later_.pop()) {
            if (later_.top() <= now_)
                --occupied_;
            else
                note(later_.top());
        }
    }

    unsigned capacity_, occupied_ = 0;
    std::uint64_t now_ = 0;
    std::array<std::uint16_t, window> released_{};
    std::array<std::uint64_t, words> any_{};
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> later_;
};

/// A queue whose entries are given back in the order in which they were taken.
class InOrder {
  public:
    explicit InOrder(unsigned capacity) : until_(capacity, 0) {}
    /// The cycle from which the next entry has room; 0: at once.
    std::uint64_t room_at() const { return until_.empty() ? 0 : until_[next_]; }
    void take(std::uint64_t until) {
        if (until_.empty()) return;
        until_[next_] = until;
        if (++next_ == until_.size()) next_ = 0;
    }

  private:
    std::vector<std::uint64_t> until_;
    std::size_t next_ = 0;
};

}  // namespace tmaprobe::model::core
