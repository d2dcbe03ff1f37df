#include "trace/untouched_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>

#include "base/fd.h"
#include "base/file.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t page_bytes = 4096;
/// Pages that are looked at; of further memory all counts as touched. A millisecond.
constexpr std::uint64_t most_pages = 1 << 18;

}  // namespace

UntouchedPages UntouchedPages::of_process(pid_t pid) {
    UntouchedPages pages;
    const std::string process = "/proc/" + std::to_string(pid);
    const auto maps = read_file(process + "/maps");
    const Fd of_process(::open((process + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    if (!maps || !of_process) return pages;
    std::istringstream lines(*maps);
    std::string line;
    while (std::getline(lines, line)) {
        unsigned long long begin = 0, end = 0, file = 0;
        char permissions[5] = {};
        if (std::sscanf(line.c_str(), "%llx-%llx %4s %*x %*x:%*x %llu", &begin, &end, permissions, &file) != 4)
            continue;
        const bool is_memory = permissions[1] == 'w' && permissions[3] == 'p' && file == 0;
        pages.add(begin, end, is_memory ? of_process.get() : -1);
    }
    return pages;
}

void UntouchedPages::add(std::uint64_t begin, std::uint64_t end, int pages_of_process) {
    constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62;
    areas_.push_back({begin, end, {}});
    const std::uint64_t pages = (end - begin) / page_bytes;
    if (pages_of_process < 0 || looked_at_ + pages > most_pages) return;
    looked_at_ += pages;
    std::vector<std::uint64_t> entries(pages);
    const auto bytes = static_cast<ssize_t>(pages * sizeof(std::uint64_t));
    const auto from = static_cast<off_t>(begin / page_bytes * sizeof(std::uint64_t));
    if (::pread(pages_of_process, entries.data(), static_cast<std::size_t>(bytes), from) != bytes) return;
    std::vector<bool>& touched = areas_.back().touched;
    touched.resize(pages);
    for (std::size_t page = 0; page < pages; ++page) touched[page] = (entries[page] & present_or_swapped) != 0;
}

bool UntouchedPages::contains(std::uint64_t address) const {
    if (areas_.empty()) return false;
    const auto after = std::upper_bound(areas_.begin(), areas_.end(), address,
                                        [](std::uint64_t at, const Area& area) { return at < area.begin; });
    if (after == areas_.begin() || address >= (after - 1)->end) return true;
    const Area& area = *(after - 1);
    return !area.touched.empty() && !area.touched[(address - area.begin) / page_bytes];
}

}  // namespace tmaprobe::trace
