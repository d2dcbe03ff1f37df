#include "model/core/ports.h"

#include <algorithm>

namespace tmaprobe::model::core {

void Ports::advance(std::uint64_t cycle) {
    const std::uint64_t from = floor_ / word_bits, to = cycle / word_bits;
    floor_ = cycle;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(to - from, words); ++i) busy_[(from + i) % words].fill(0);
}

std::size_t Ports::least_loaded(std::uint64_t ports, std::uint64_t renamed) {
    std::size_t best = 0;
    unsigned least = ~0u;
    for (std::uint64_t left = ports; left; left &= left - 1) {
        const auto port = static_cast<std::size_t>(std::countr_zero(left));
        unsigned load = static_cast<unsigned>(std::popcount(word(port, renamed) >> (renamed % word_bits)));
        for (std::uint64_t further = 1; further < 3; ++further)
            load += static_cast<unsigned>(std::popcount(word(port, renamed + further * word_bits)));
        if (load < least) {
            least = load;
            best = port;
        }
    }
    return best;
}

void Ports::want(std::uint64_t ports) {
    constexpr unsigned whole = 256, half_life = 64;
    const unsigned share = whole / static_cast<unsigned>(std::popcount(ports));
    for (std::uint64_t left = ports; left; left &= left - 1)
        wanted_[static_cast<std::size_t>(std::countr_zero(left))] += share;
    if (++asked_ % half_life) return;
    for (std::uint32_t& wanted : wanted_) wanted /= 2;
}

std::uint64_t Ports::take(std::uint64_t ports, std::uint64_t ready, std::uint64_t renamed) {
    // Further ahead than the window nothing is kept: so late, a port is free.
    constexpr std::uint64_t kept = window - word_bits;
    if (ready < floor_) ready = floor_;
    if (twice_) ports |= ports << most_ports / 2;
    want(ports);
    if (bound_ && (ports & (ports - 1))) ports = std::uint64_t{1} << least_loaded(ports, std::max(renamed, floor_));
    for (std::uint64_t cycle = ready; cycle < floor_ + kept;) {
        const auto& row = busy_[cycle / word_bits % words];
        std::uint64_t all = ~std::uint64_t{0};
        for (std::uint64_t left = ports; left; left &= left - 1)
            all &= row[static_cast<std::size_t>(std::countr_zero(left))];
        const std::uint64_t free = ~all & (~std::uint64_t{0} << (cycle % word_bits));
        if (!free) {
            cycle = (cycle / word_bits + 1) * word_bits;
            continue;
        }
        const auto bit = static_cast<unsigned>(std::countr_zero(free));
        const std::uint64_t found = cycle / word_bits * word_bits + bit;
        std::size_t chosen = most_ports;
        for (std::uint64_t left = ports; left; left &= left - 1) {
            const auto port = static_cast<std::size_t>(std::countr_zero(left));
            if (row[port] >> bit & 1) continue;
            if (chosen == most_ports || wanted_[port] < wanted_[chosen]) chosen = port;
        }
        word(chosen, found) |= std::uint64_t{1} << bit;
        return found;
    }
    return std::max(ready, floor_ + kept);
}

}  // namespace tmaprobe::model::core
