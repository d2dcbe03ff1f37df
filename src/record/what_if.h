#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "record/speed_up.h"
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
    busy_sibling,
    prefetched,  ///< loads that miss often, some executions before
    // Of chosen code:
    no_dependencies,
    no_waits,
};

/// What some changes together would win, by the model.
struct WhatIfAnswer {
    std::vector<Change> changes;
    std::uint64_t prefetch_distance = 0;  ///< executions of the same load; 0: nothing is prefetched
    std::string code;                     ///< that was chosen, as it was asked for; empty: the changes are of no code
    SpeedUp speed_up;
    CauseSlots slots;  ///< shares of all slots by cause, then: the bottleneck that remains
};

/// A cause of lost time, and its part of all that removing the five together would win.
struct CauseShare {
    Change change = Change::perfect_l1;
    double share = 0;  ///< of the time as it is: a Shapley value; negative where it makes others worse
};

/// What large pages would win for one mapping, all else as it is.
struct MappingPages {
    DataKind kind = DataKind::unknown;  ///< file, heap, stack, anonymous
    std::string path;                   ///< of the file; empty: of none
    bool zeroed = false;                ///< what of the file's data begins as zeros, in memory of no file
    std::uint64_t address = 0;          ///< where it lay in the first process that had it
    std::uint64_t bytes = 0;            ///< the most that it was long
    double waits = 0;                   ///< share of all slots that wait for what is in it, in small pages, as it is
    SpeedUp speed_up;                   ///< with pages of 2 MiB
};

/// Instructions of the trace that belong to an extension of the instruction set.
struct InstructionSetUse {
    std::string feature;  ///< as LLVM calls it: "avx512f"
    double share = 0;     ///< of the executed instructions, in time
};

/// A file whose code was chosen by what the CPU has: on another one other code may run.
struct ChosenByCpu {
    std::string path;
    bool by_loader = false;  ///< the loader chose (ifunc); else the code asks the CPU itself (cpuid)
    double share = 0;        ///< of the executed instructions: those of it that not every CPU of this kind has
};

/// The same trace on another CPU.
struct TargetSpeed {
    std::string folder, title;
    SpeedUp speed_up;                      ///< at the clocks that are published of both
    double cycles_ratio = 1;               ///< its cycles over those of the CPU that it is related to
    double frequency_hz = 0;               ///< published
    double unmodelled = 0;                 ///< share of the instructions that its scheduling data do not know
    std::string unavailable;               ///< why there is no speed; empty: there is one
    std::vector<InstructionSetUse> lacks;  ///< what of the trace it could not execute
};

/// What changes would win: the same executed instructions, simulated again.
struct WhatIf {
    std::string workload;  ///< of the trace
    std::string taken_on;  ///< CPU id
    std::string region;    ///< whose speed is said; empty: that of all
    std::uint64_t trace_bytes = 0, trace_instructions = 0;
    CauseSlots slots;                    ///< shares of all slots by cause, as it is
    std::vector<WhatIfAnswer> answers;   ///< the most worth first
    std::vector<CauseShare> shares;      ///< of the main causes, the largest first
    std::vector<MappingPages> mappings;  ///< those that are waited for most, the most worth first
    std::string mappings_unknown;  ///< why large pages were not asked by mapping; empty: they were, or need not be
    std::vector<InstructionSetUse> instruction_sets;  ///< beyond what every CPU of this kind has, where targets are
    std::vector<ChosenByCpu> chosen_by_cpu;           ///< where targets are
    std::vector<TargetSpeed> targets;                 ///< the fastest first
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
        {busy_sibling, "busy_sibling"},
        {prefetched, "prefetched"},
        {no_dependencies, "no_dependencies"},
        {no_waits, "no_waits"},
    });
};

}  // namespace tmaprobe
