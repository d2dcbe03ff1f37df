#include "report/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/sizes.h"
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
        case busy_sibling:
            return "a busy sibling hyperthread had half of the core";
        case prefetched:
            return "loads that miss were prefetched";
        case no_dependencies:
            return "it waited for no value";
        case no_waits:
            return "it took its slots and nothing more";
    }
    return "";
}

std::string words_of(const record::WhatIfAnswer& answer) {
    std::string text;
    for (const record::Change change : answer.changes) {
        std::string words = words_of(change);
        if (change == record::Change::prefetched)
            words += fmt::format(" {} execution{} before", answer.prefetch_distance,
                                 answer.prefetch_distance == 1 ? "" : "s");
        if (change == record::Change::no_dependencies) words = answer.code + " waited for no value";
        if (change == record::Change::no_waits) words = answer.code + " took its slots and nothing more";
        text += (text.empty() ? "" : " and ") + words;
    }
    return text;
}

std::string words_of(const record::MappingPages& mapping) {
    using enum record::DataKind;
    const std::string size = ", " + format_size(mapping.bytes);
    switch (mapping.kind) {
        case file:
            return (mapping.zeroed ? "zeroed data of " : "") + base_name(mapping.path) + size;
        case heap:
            return "heap" + size;
        case stack:
            return "stack" + size;
        default:
            return (mapping.path.empty() ? "anonymous memory" : mapping.path) + size +
                   fmt::format(" at {:#x}", mapping.address);
    }
}

std::string way_to_large_pages(const record::MappingPages& mapping) {
    using enum record::DataKind;
    constexpr std::uint64_t large_page = 2u << 20;
    const std::uint64_t bytes = mapping.bytes / large_page * large_page;
    switch (mapping.kind) {
        case heap:
            return "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
        case anonymous:
            return fmt::format(
                "madvise(address, {}, MADV_HUGEPAGE); "
                "what malloc gave: GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
                bytes);
        case file:
            if (mapping.zeroed)
                return fmt::format(
                    "extern char __bss_start[], _end[]; char *begin = (char *)(((uintptr_t)__bss_start + "
                    "{0}) & ~(uintptr_t){0}); madvise(begin, _end - begin, MADV_HUGEPAGE);",
                    large_page - 1);
            return "read it into memory of no file first: of a file, the kernel gives large pages only on tmpfs";
        case stack:
            return fmt::format(
                "a stack of its own for the thread: mmap, madvise(stack, {}, MADV_HUGEPAGE), "
                "pthread_attr_setstack",
                bytes);
        default:
            return {};
    }
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
    const std::string& region = what_if.region;
    if (makes_no_difference(speed_up))
        return fmt::format("Nothing that was asked would make {} faster.", region.empty() ? "it" : "region " + region);
    return fmt::format("{} would run {} times as fast (modelled, {}) if {}, and would then be bound by {}.",
                       region.empty() ? "It" : "Region " + region, times_text(speed_up.value), bounds_text(speed_up),
                       words_of(best), bottleneck_words(best.slots));
}

}  // namespace tmaprobe::report
