#pragma once

#include <optional>
#include <string>

#include "machine/host.h"
#include "memory/pages.h"

namespace tmaprobe::timing {

/// Time per access of three walks over the same number of cache lines, ns: lines side by side, lines
/// one per 4 KiB in small pages, lines one per 4 KiB in the page mode in question.
struct PageWalks {
    double dense_ns = 0, small_ns = 0, large_ns = 0;
};

/// The size of the TLB's entries under huge pages, "4k" or the mode's own, and what it was seen by.
struct EffectivePages {
    std::string name;       ///< empty: not known
    std::string why;        ///< one line
    double kept_share = 0;  ///< how much of the small pages' extra time remains with huge pages
};

/// Under nested paging an entry has the smaller of the guest's and the host's page, so that huge pages
/// may keep the reach of 4 KiB ones. The entries are small when more than a quarter of the extra time that
/// scattered accesses cost in small pages remains in huge ones (a shorter walk alone saves less than that),
/// or when they take more than twice as long as accesses side by side; the answer is open when scattering
/// costs nothing even in small pages.
EffectivePages judge_page_walks(const PageWalks& walks, const std::string& mode_name);

/// Bytes in the page mode in question that effective_pages() walks; 0 where it answers without.
std::uint64_t effective_pages_bytes(const machine::Host& host);

/// Answers without measuring on bare metal and for 4k pages; else allocates two buffers of a few dozen
/// MiB (twice the reach of the 4 KiB TLB) and walks them in turn on the calling thread's CPU, some 50 ms in all.
/// Open when the memory is not to be had.
EffectivePages effective_pages(const machine::Host& host, const memory::PageMode& mode, std::optional<int> numa_node);

}  // namespace tmaprobe::timing
