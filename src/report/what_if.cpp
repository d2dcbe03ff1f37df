#include "report/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/where.h"

namespace tmaprobe::report {

std::string words_of(record::Change change) {
    using enum record::Change;
    switch (change) {
        case perfect_l1:
            return "nothing missed the L1 data cache";
        case perfect_l2:
            return "nothing missed the L2 cache";
        case perfect_l3:
            return "nothing missed the L3 cache";
        case no_tlb_misses:
            return "nothing missed the TLBs";
        case pages_4k:
            return "all pages were 4 KiB";
        case pages_2m:
            return "all pages were 2 MiB";
        case pages_1g:
            return "all pages were 1 GiB";
        case no_mispredictions:
            return "no branch were mispredicted";
        case perfect_front_end:
            return "the front end never stalled";
        case no_failed_forwarding:
            return "store forwarding never failed";
        case twice_width:
            return "the core were twice as wide";
        case twice_ports:
            return "there were twice the execution ports";
        case twice_reorder_buffer:
            return "the reorder buffer were twice as large";
        case twice_memory_buffers:
            return "twice the loads and stores could be in flight";
        case half_memory_latency:
            return "memory had half the latency";
        case twice_memory_bandwidth:
            return "memory had twice the bandwidth";
        case no_prefetchers:
            return "there were no prefetchers";
        case half_l3:
            return "half the L3 cache went to others";
    }
    return "";
}

std::string words_of(const std::vector<record::Change>& changes) {
    std::string text;
    for (const record::Change change : changes) text += (text.empty() ? "" : " and ") + words_of(change);
    return text;
}

std::string bottleneck_words(const record::CauseSlots& slots) {
    const auto most = std::ranges::max_element(slots, {}, [](const auto& cause) { return cause.second; });
    if (most == slots.end()) return "nothing";
    if (most->first == name_of(record::SlotCause::retiring)) return "its own instructions";
    return words_of_most_slots(slots);
}

std::string times_text(double speed_up) { return fmt::format("{:.{}f}", speed_up, speed_up < 9.995 ? 2 : 1); }

std::string bounds_text(const record::SpeedUp& speed_up) {
    return times_text(speed_up.low) + ".." + times_text(speed_up.high);
}

bool makes_no_difference(const record::SpeedUp& speed_up) {
    constexpr double nothing = 0.005;
    return std::abs(speed_up.value - 1) < nothing && std::abs(speed_up.low - 1) < nothing &&
           std::abs(speed_up.high - 1) < nothing;
}

std::string what_if_sentence(const record::WhatIf& what_if) {
    if (what_if.answers.empty()) return {};
    const record::WhatIfAnswer& best =
        *std::ranges::max_element(what_if.answers, {}, [](const auto& one) { return one.speed_up.value; });
    const record::SpeedUp& speed_up = best.speed_up;
    if (makes_no_difference(speed_up)) return "Nothing that was asked would make it faster.";
    return fmt::format("It would run {} times as fast (modelled, {}) if {}, and would then be bound by {}.",
                       times_text(speed_up.value), bounds_text(speed_up), words_of(best.changes),
                       bottleneck_words(best.slots));
}

}  // namespace tmaprobe::report
