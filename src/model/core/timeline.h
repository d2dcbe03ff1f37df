#pragma once

// What goes on in each cycle, gathered out of order and counted in order.

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "model/core/facts.h"

namespace tmaprobe::model::core {

/// Things that last from one cycle to another.
enum class During : std::uint8_t { load, miss, l2_miss, l3_miss, oldest_loads, store_buffer_full };
constexpr std::size_t during_kinds = 6;

/// The counts that need to know of all instructions in flight in a cycle: whether any was issued, whether loads are
/// out.
class Timeline {
  public:
    explicit Timeline(PipelineFacts& facts) : facts_(facts) {}
    /// Micro-ops that go to their ports in a cycle not yet counted.
    void issued(std::uint64_t cycle, unsigned micro_ops) { add(cycle, issue, static_cast<int>(micro_ops)); }
    /// From `begin` up to, but without, `end`.
    void lasts(During what, std::uint64_t begin, std::uint64_t end) {
        begin = begin < now_ ? now_ : begin;
        if (end <= begin) return;
        add(begin, static_cast<std::size_t>(what), 1);
        add(end, static_cast<std::size_t>(what), -1);
    }
    /// Counts all cycles before this one.
    void count_until(std::uint64_t cycle);

  private:
    static constexpr std::size_t issue = during_kinds, kinds = during_kinds + 1, words = 16, window = words * 64;
    struct Late {
        std::uint64_t cycle;
        std::size_t kind;
        int amount;
        bool operator>(const Late& other) const { return cycle > other.cycle; }
    };
    void add(std::uint64_t cycle, std::size_t kind, int amount) {
        if (cycle < now_) cycle = now_;
        if (cycle >= now_ + window) {
            late_.push({cycle, kind, amount});
            return;
        }
        cells_[cycle % window][kind] = static_cast<std::int16_t>(cells_[cycle % window][kind] + amount);
        any_[cycle / 64 % words] |= std::uint64_t{1} << (cycle % 64);
    }
    std::uint64_t next_change(std::uint64_t limit) const;
    void count(std::uint64_t cycles, int issued);

    PipelineFacts& facts_;
    std::uint64_t now_ = 0;
    std::array<std::array<std::int16_t, kinds>, window> cells_{};
    std::array<std::uint64_t, words> any_{};
    std::array<int, during_kinds> state_{};
    std::priority_queue<Late, std::vector<Late>, std::greater<>> late_;
};

}  // namespace tmaprobe::model::core
