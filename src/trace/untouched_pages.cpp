#include "trace/untouched_pages.h"

#include <fcntl.h>

#include <string>

#include "base/fd.h"
#include "process/mappings.h"

namespace tmaprobe::trace {

UntouchedPages UntouchedPages::of_process(pid_t pid) {
    // What is looked at; of further memory all counts as touched. A millisecond.
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
    UntouchedPages pages;
    const Fd pagemap(::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    if (!pagemap) return pages;
    std::uint64_t looked_at = 0;
    for (const process::MemoryMapping& mapping : process::memory_mappings_of(pid)) {
        const bool is_memory = mapping.writable && !mapping.shared && mapping.inode == 0;
        const std::uint64_t bytes = mapping.end - mapping.begin;
        const bool is_known = is_memory && looked_at + bytes <= most_bytes;
        pages.areas_.push_back({mapping.begin, mapping.end, is_known});
        if (!is_known) continue;
        looked_at += bytes;
        const std::vector<TouchedRun> touched = touched_runs(pagemap.get(), mapping.begin, mapping.end);
        pages.touched_.insert(pages.touched_.end(), touched.begin(), touched.end());
    }
    return pages;
}

bool UntouchedPages::contains(std::uint64_t address) const {
    if (areas_.empty()) return false;
    const Area* const area = process::mapping_at(areas_, address);
    return !area || (area->is_known && !process::mapping_at(touched_, address));
}

}  // namespace tmaprobe::trace
