#include "model/core/ports.h"

#include <algorithm>
#include <utility>

namespace tmaprobe::model::core {

PortGroups::PortGroups(std::vector<std::uint64_t> groups) : groups_(std::move(groups)) {
    groups_.resize(std::min<std::size_t>(groups_.size(), 64));
    for (std::size_t group = 0; group < groups_.size(); ++group)
        for (std::uint64_t left = groups_[group]; left; left &= left - 1)
            of_port_[static_cast<std::size_t>(std::countr_zero(left))] |= std::uint64_t{1} << group;
}

/// What is bound to these cycles waits no more.
void Ports::forget_until(std::uint64_t cycle) {
    // Nothing is bound behind the window, whose words would come round again.
    const std::uint64_t last = std::min(cycle, (floor_ / word_bits + words) * word_bits);
    for (std::uint64_t at = floor_; at < last;) {
        const std::uint64_t end = std::min(last, (at / word_bits + 1) * word_bits);
        const std::uint64_t passed = ~std::uint64_t{0} >> (word_bits - (end - at)) << at % word_bits;
        const auto& row = busy_[at / word_bits % words];
        for (std::size_t port = 0; port < used_ports_; ++port) waiting_[port] -= bits_set(row[port] & passed);
        at = end;
    }
    floor_ = cycle;
}

/// How many waited for each port as the cycles before this one ended.
void Ports::remember(std::uint64_t cycle) {
    if (cycle == floor_) return;
    const std::uint64_t kept = std::max(floor_ + 1, cycle - std::min<std::uint64_t>(cycle, remembered_cycles - 1));
    for (std::uint64_t next = kept; next <= cycle; ++next) {
        forget_until(next);
        std::copy_n(waiting_.begin(), used_ports_, waited_[(next - 1) % remembered_cycles].begin());
    }
}

void Ports::advance(std::uint64_t cycle) {
    const std::uint64_t before = floor_;
    if (choice_.counts_age) remember(cycle);
    const std::uint64_t from = before / word_bits, to = cycle / word_bits;
    floor_ = cycle;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(to - from, words); ++i) {
        auto& row = busy_[(from + i) % words];
        for (std::size_t port = 0; port < used_ports_; ++port)
            if (row[port]) booked_[port] -= bits_set(std::exchange(row[port], 0));
    }
}

/// Of the least loaded of them.
std::uint32_t Ports::load(std::uint64_t ports) const {
    std::uint32_t least = ~0u;
    for (; ports; ports &= ports - 1)
        least = std::min(least, booked_[static_cast<std::size_t>(std::countr_zero(ports))]);
    return least;
}

std::uint64_t Ports::bound_in_slot(std::uint64_t ports, std::size_t slot) const {
    // From the least loaded on, by what was known some cycles ago; among equals the last first.
    const auto& known = waited_[(floor_ - std::min<std::uint64_t>(floor_, choice_.counts_age)) % remembered_cycles];
    std::array<std::size_t, most_ports> order;
    std::size_t count = 0;
    for (std::uint64_t left = ports; left; left &= left - 1) {
        const auto port = static_cast<std::size_t>(std::countr_zero(left));
        std::size_t at = count++;
        for (; at > 0 && known[order[at - 1]] >= known[port]; --at) order[at] = order[at - 1];
        order[at] = port;
    }
    const std::size_t place = places(ports)[slot % places(ports).size()];
    const bool far_apart = known[order[place]] - known[order[0]] >= choice_.difference;
    return std::uint64_t{1} << order[far_apart ? 0 : place];
}

std::uint64_t Ports::bound(std::uint64_t ports) {
    const std::uint64_t groups = groups_.with(ports);
    if (!groups) return ports;
    const auto first = static_cast<std::size_t>(std::countr_zero(groups));
    // What comes again in a loop goes where it went before, beside what it waits for.
    std::size_t& last = last_chosen_[std::min(first, last_chosen_.size() - 1)];
    if (is_one_bit(groups)) {
        last = first;
        return ports & groups_.ports(first);
    }
    // By load, and among equals by how far behind the last one they come round.
    constexpr unsigned turn_bits = 6;
    constexpr std::uint64_t turns = (1u << turn_bits) - 1;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint64_t left = groups; left; left &= left - 1) {
        const auto group = static_cast<std::size_t>(std::countr_zero(left));
        const std::uint64_t load = this->load(ports & groups_.ports(group));
        least = std::min(least, load << turn_bits | ((group - last - 1) & turns));
    }
    last = (last + 1 + least) & turns;
    return ports & groups_.ports(last);
}

void Ports::close(std::uint64_t ports, std::uint64_t cycle) {
    if (std::exchange(taken_in_, cycle) != cycle) taken_ = 0;
    for (std::uint64_t left = groups_.with(ports); left; left &= left - 1)
        taken_ |= groups_.ports(static_cast<std::size_t>(std::countr_zero(left)));
}

void Ports::want(std::uint64_t ports) {
    constexpr unsigned whole = 256, half_life = 64;
    const unsigned share = whole / bits_set(ports);
    for (std::uint64_t left = ports; left; left &= left - 1)
        wanted_[static_cast<std::size_t>(std::countr_zero(left))] += share;
    if (++asked_ % half_life) return;
    for (std::uint32_t& wanted : wanted_) wanted /= 2;
}

std::uint64_t Ports::take(std::uint64_t ports, std::uint64_t ready, std::uint64_t until) {
    // Further ahead than the window nothing is kept: so late, a port is free.
    constexpr std::uint64_t kept = window - word_bits;
    if (ready < floor_) ready = floor_;
    if (twice_) ports |= ports << most_ports / 2;
    want(ports);
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
        if (found > until) return found;
        std::size_t chosen = most_ports;
        for (std::uint64_t left = ports; left; left &= left - 1) {
            const auto port = static_cast<std::size_t>(std::countr_zero(left));
            if (row[port] >> bit & 1) continue;
            if (chosen == most_ports || wanted_[port] < wanted_[chosen]) chosen = port;
        }
        word(chosen, found) |= std::uint64_t{1} << bit;
        ++booked_[chosen];
        used_ports_ = std::max(used_ports_, chosen + 1);
        if (choice_.counts_age) ++waiting_[chosen];
        return found;
    }
    return std::max(ready, floor_ + kept);
}

}  // namespace tmaprobe::model::core
