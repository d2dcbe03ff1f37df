#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tmaprobe::trace {

/// Which page sizes a process's memory is mapped with, from the kernel's smaps.
class PageMap {
  public:
    /// Everything in pages of one size.
    static PageMap uniform(std::uint64_t page_bytes);
    /// Of a process as it is now; everything small when smaps cannot be read.
    static PageMap of_process(pid_t pid);
    static PageMap parse(const std::string& smaps);

    std::uint64_t page_bytes(std::uint64_t address) const;
    /// One large page, of which `address` is a part.
    void add(std::uint64_t address, std::uint64_t page_bytes);
    /// All that lies in whole pages of this size between two addresses, whatever it was in.
    void cover(std::uint64_t begin, std::uint64_t end, std::uint64_t page_bytes);
    /// Transparent huge pages cover part of some mapping: which part is not known, and spread evenly.
    bool partly_known() const { return partly_known_; }

  private:
    struct Area {
        std::uint64_t begin = 0, end = 0;
        std::uint64_t page_bytes = 4096;
        double huge_share = 0;  ///< of its aligned 2 MiB extents that one large page maps
    };
    std::vector<Area> areas_;  ///< by address; plain small ones are left out
    std::uint64_t otherwise_ = 4096;
    bool partly_known_ = false;
};

/// "4k", "2m", "1g". Errors: bad_usage.
Result<std::uint64_t> parse_assumed_pages(const std::string& name);

}  // namespace tmaprobe::trace
