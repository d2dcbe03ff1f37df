#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tmaprobe::memory {

/// How a kernel's memory is to be mapped.
struct PageMode {
    std::string name;              ///< "4k", "thp", "2m", "1g"; on Arm also "16k", "64k", "32m", "512m", ...
    std::uint64_t page_bytes = 0;  ///< size of the pages asked for (thp: the huge page size)
    bool hugetlb = false;          ///< from the reserved pool
    bool transparent = false;      ///< madvise(MADV_HUGEPAGE)
};

/// The mode by name for this kernel. Errors: bad_usage with the names that exist here.
Result<PageMode> parse_page_mode(std::string_view name);

/// Bytes really obtained by page size: {"4k": n, "2m": m, ...}, read from the kernel after touching.
using ObtainedBytes = std::map<std::string, std::uint64_t>;

/// Owns anonymous memory in one page mode, faulted in before it is handed out.
class Buffer {
  public:
    /// `numa_node` binds the memory to that node. Errors: unavailable when there are not enough huge
    /// pages (how many there are, how to reserve them) or not enough memory (checked before touching).
    static Result<Buffer> allocate(std::uint64_t bytes, const PageMode& mode,
                                   std::optional<int> numa_node = std::nullopt);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();

    std::byte* data() const { return data_; }
    std::uint64_t size() const { return size_; }  ///< as asked for; the mapping may be larger
    const ObtainedBytes& obtained() const { return obtained_; }
    const PageMode& mode() const { return mode_; }

  private:
    Buffer() = default;
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0, mapped_ = 0;
    PageMode mode_;
    ObtainedBytes obtained_;
};

}  // namespace tmaprobe::memory
