#include "judge/predicted_knees.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/sizes.h"

namespace tmaprobe::judge {

std::vector<record::Knee> predicted_knees(const machine::Host& host, std::uint64_t page_bytes) {
    std::vector<record::Knee> knees;
    for (const machine::Cache& cache : host.caches)
        if (cache.kind != "instruction")
            knees.push_back({cache.size_bytes, 1,
                             fmt::format("L{} cache {}", cache.level, format_size(cache.size_bytes)),
                             record::KneeKind::predicted, record::PageKind::none, record::KneeCause::cache});

    std::map<int, std::uint64_t> entries;
    for (const machine::Tlb& tlb : host.tlbs)
        if (tlb.page_bytes == page_bytes && (tlb.kind == "data" || tlb.kind == "unified"))
            entries[tlb.level] += static_cast<std::uint64_t>(tlb.entries);
    for (const auto& [level, count] : entries)
        knees.push_back({count * page_bytes, 1,
                         fmt::format("L{} TLB reach {} ({} x {})", level, format_size(count * page_bytes), count,
                                     format_page_size(page_bytes)),
                         record::KneeKind::predicted, record::PageKind::none, record::KneeCause::tlb});
    std::stable_sort(knees.begin(), knees.end(),
                     [](const auto& one, const auto& other) { return one.size_bytes < other.size_bytes; });
    return knees;
}

}  // namespace tmaprobe::judge
