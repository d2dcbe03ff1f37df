#include "model/core/timeline.h"

#include <algorithm>

namespace tmaprobe::model::core {

std::uint64_t Timeline::next_change(std::uint64_t limit) const {
    for (std::uint64_t cycle = now_; cycle < std::min(limit, now_ + window);) {
        const std::uint64_t bits = any_[cycle / 64 % words] & (~std::uint64_t{0} << (cycle % 64));
        if (bits) return std::min(limit, cycle / 64 * 64 + static_cast<unsigned>(std::countr_zero(bits)));
        cycle = (cycle / 64 + 1) * 64;
    }
    const std::uint64_t far = late_.empty() ? limit : late_.top().cycle;
    return std::min({limit, far, now_ + window});
}

void Timeline::count_until(std::uint64_t cycle) {
    while (now_ < cycle) {
        while (!late_.empty() && late_.top().cycle < now_ + window) {
            const Late late = late_.top();
            late_.pop();
            add(late.cycle, late.kind, late.amount);
        }
        if (const std::uint64_t change = next_change(cycle); change > now_) {
            count(change - now_, 0);
            now_ = change;
            continue;
        }
        auto& cell = cells_[now_ % window];
        for (std::size_t kind = 0; kind < during_kinds; ++kind) state_[kind] += cell[kind];
        const int issued = cell[issue];
        cell.fill(0);
        any_[now_ / 64 % words] &= ~(std::uint64_t{1} << (now_ % 64));
        count(1, issued);
        ++now_;
    }
}

void Timeline::count(std::uint64_t cycles, int issued) {
    const auto goes_on = [&](During what) { return state_[static_cast<std::size_t>(what)] > 0; };
    const bool loads = goes_on(During::load), misses = goes_on(During::miss);
    if (loads) facts_.cycles_load_in_flight += cycles;
    if (misses) facts_.cycles_l1_miss += cycles;
    if (issued == 0) {
        facts_.cycles_no_execute += cycles;
        // A first-level hit in flight beside a busy core is no stall on memory: the oldest must wait for it.
        if (misses || goes_on(During::oldest_loads)) facts_.cycles_no_execute_load += cycles;
        if (misses) facts_.cycles_no_execute_l1_miss += cycles;
        if (goes_on(During::l2_miss)) facts_.cycles_no_execute_l2_miss += cycles;
        if (goes_on(During::l3_miss)) facts_.cycles_no_execute_l3_miss += cycles;
        if (!loads && goes_on(During::store_buffer_full)) facts_.cycles_store_bound += cycles;
    } else if (issued == 1) {
        facts_.cycles_one_execute += cycles;
    } else if (issued == 2) {
        facts_.cycles_two_execute += cycles;
    }
}

}  // namespace tmaprobe::model::core
