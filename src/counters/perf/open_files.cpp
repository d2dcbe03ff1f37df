#include "counters/perf/open_files.h"

#include <filesystem>

namespace tmaprobe::counters::perf {

MoreOpenFiles::MoreOpenFiles() {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0 || before_.rlim_cur == before_.rlim_max) return;
    const rlimit most{before_.rlim_max, before_.rlim_max};
    raised_ = ::setrlimit(RLIMIT_NOFILE, &most) == 0;
}

MoreOpenFiles::~MoreOpenFiles() {
    if (raised_) ::setrlimit(RLIMIT_NOFILE, &before_);
}

std::size_t files_left() {
    constexpr std::size_t for_whatever_comes = 8;  // reports, /proc, descriptors of processes
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return ~std::size_t{0};
    std::size_t open = for_whatever_comes;
    std::error_code unreadable;
    for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", unreadable);
         !unreadable && entry != std::filesystem::directory_iterator(); entry.increment(unreadable))
        ++open;
    const auto most = static_cast<std::size_t>(limit.rlim_max);
    return most > open ? most - open : 0;
}

}  // namespace tmaprobe::counters::perf
