#include "trace/touched_runs.h"

#include <unistd.h>

#include <algorithm>

namespace tmaprobe::trace {

std::vector<TouchedRun> touched_runs(int pagemap, std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t page = 4096;
    constexpr std::uint64_t at_once = 8192, present_or_swapped = std::uint64_t{3} << 62;
    std::vector<std::uint64_t> entries;
    std::vector<TouchedRun> runs;
    for (std::uint64_t at = begin; at < end; at += entries.size() * page) {
        entries.resize(std::min(at_once, (end - at) / page));
        const std::size_t wanted = entries.size() * sizeof entries[0];
        if (::pread(pagemap, entries.data(), wanted, static_cast<off_t>(at / page * sizeof entries[0])) !=
            static_cast<ssize_t>(wanted))
            break;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (!(entries[i] & present_or_swapped)) continue;
            const std::uint64_t here = at + i * page;
            if (!runs.empty() && runs.back().end == here)
                runs.back().end += page;
            else
                runs.push_back({here, here + page});
        }
    }
    return runs;
}

}  // namespace tmaprobe::trace
