#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "record/where.h"

namespace tmaprobe::record {

/// One thing about the machine that might be other than it is.
enum class Change : std::uint8_t {
    perfect_l1,
    perfect_l2,
    perfect_l3,
    no_tlb_misses,
    pages_4k,
    pages_2m,
    pages_1g,
    no_mispredictions,
    perfect_front_end,
    no_failed_forwarding,
    twice_width,
    twice_ports,
    twice_reorder_buffer,
    twice_memory_buffers,
    half_memory_latency,
    twice_memory_bandwidth,
    no_prefetchers,
    half_l3,
};

/// How many times as fast it would be: 1 is as it is, below 1 is slower.
struct SpeedUp {
    double value = 1, low = 1, high = 1;
};

/// What some changes together would win, by the model.
struct WhatIfAnswer {
    std::vector<Change> changes;
    SpeedUp speed_up;
    CauseSlots slots;  ///< shares of all slots by cause, then: the bottleneck that remains
};

/// A cause of lost time, and its part of all that removing the five together would win.
struct CauseShare {
    Change change = Change::perfect_l1;
    double share = 0;  ///< of the time as it is: a Shapley value; negative where it makes others worse
};

/// The same trace on another CPU.
struct TargetSpeed {
    std::string folder, title;
    SpeedUp speed_up;         ///< at the clocks that are published of both
    double cycles_ratio = 1;  ///< its cycles over those of the CPU that it is related to
    double frequency_hz = 0;  ///< published
    double unmodelled = 0;    ///< share of the instructions that its scheduling data do not know
    std::string unavailable;  ///< why there is no speed; empty: there is one
};

/// What changes would win: the same executed instructions, simulated again.
struct WhatIf {
    std::string workload;  ///< of the trace
    std::string taken_on;  ///< CPU id
    std::uint64_t trace_bytes = 0, trace_instructions = 0;
    CauseSlots slots;                   ///< shares of all slots by cause, as it is
    std::vector<WhatIfAnswer> answers;  ///< the most worth first
    std::vector<CauseShare> shares;     ///< of the main causes, the largest first
    std::vector<TargetSpeed> targets;   ///< the fastest first
};

}  // namespace tmaprobe::record

namespace tmaprobe {

template <>
struct Names<record::Change> {
    using enum record::Change;
    static constexpr auto values = std::to_array<std::pair<record::Change, std::string_view>>({
        {perfect_l1, "perfect_l1"},
        {perfect_l2, "perfect_l2"},
        {perfect_l3, "perfect_l3"},
        {no_tlb_misses, "no_tlb_misses"},
        {pages_4k, "pages_4k"},
        {pages_2m, "pages_2m"},
        {pages_1g, "pages_1g"},
        {no_mispredictions, "no_mispredictions"},
        {perfect_front_end, "perfect_front_end"},
        {no_failed_forwarding, "no_failed_forwarding"},
        {twice_width, "twice_width"},
        {twice_ports, "twice_ports"},
        {twice_reorder_buffer, "twice_reorder_buffer"},
        {twice_memory_buffers, "twice_memory_buffers"},
        {half_memory_latency, "half_memory_latency"},
        {twice_memory_bandwidth, "twice_memory_bandwidth"},
        {no_prefetchers, "no_prefetchers"},
        {half_l3, "half_l3"},
    });
};

}  // namespace tmaprobe
