#pragma once

#include <sys/resource.h>

#include <cstddef>

namespace tmaprobe::counters::perf {

/// While it lives, as many files may be open as this process may allow itself. What is started later has the limit
/// that it would have without us.
class MoreOpenFiles {
  public:
    MoreOpenFiles();
    MoreOpenFiles(const MoreOpenFiles&) = delete;
    MoreOpenFiles& operator=(const MoreOpenFiles&) = delete;
    ~MoreOpenFiles();

  private:
    rlimit before_{};
    bool raised_ = false;
};

/// How many counters may be opened beside the files that are open now, a few left for whatever comes.
std::size_t files_left();

}  // namespace tmaprobe::counters::perf
