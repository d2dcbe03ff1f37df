#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tmaprobe::memory {

/// How a kernel's memory is to be mapped.
struct PageMode {
    std::string name;              ///< "4k", "thp", "2m", "1g"; on Arm also "16k", "64k", "32m", "512m", ...
    std::uint64_t page_bytes = 0;  ///< size of the pages asked for (thp: the huge page size); 0: the base page
    bool hugetlb = false;          ///< from the reserved pool
    bool transparent = false;      ///< madvise(MADV_HUGEPAGE)
};

/// Size of the pages that a process gets when it asks for nothing: 4 KiB on x86-64.
std::uint64_t base_page_bytes();

/// The modes of this kernel: base pages, "thp" where the kernel has it, then the sizes of its hugetlb
/// pools, whether or not pages are reserved in them.
std::vector<PageMode> page_modes();

/// The mode by name for this kernel. Errors: bad_usage for what is no page mode anywhere, unavailable
/// for one that this machine lacks; both with the names that exist here.
Result<PageMode> parse_page_mode(std::string_view name);

/// Bytes really obtained by page size: {"4k": n, "2m": m, ...}, read from the kernel after touching.
using ObtainedBytes = std::map<std::string, std::uint64_t>;

/// Owns anonymous memory in one page mode, faulted in before it is handed out.
class Buffer {
  public:
    /// `numa_node` binds the memory to that node. Errors: bad_usage for no bytes or no such node;
    /// unavailable when there are not enough huge pages (how many there are, how to reserve them) or not
    /// enough memory (checked before touching); no_permission where binding is refused.
    static Result<Buffer> allocate(std::uint64_t bytes, const PageMode& mode,
                                   std::optional<int> numa_node = std::nullopt);

    /// As allocate(), but no page is there yet: each thread faults in the part that it will use, so that
    /// the kernel puts it on that thread's node; then verify() looks at what was obtained.
    static Result<Buffer> map(std::uint64_t bytes, const PageMode& mode, std::optional<int> numa_node = std::nullopt);
    /// Touches every page that [offset, offset + bytes) lies in, from the calling thread. May run in
    /// several threads at once. Errors: unavailable when the kernel has no page left.
    Result<> fault_in(std::uint64_t offset, std::uint64_t bytes);
    /// Reads back the page sizes obtained.
    void verify();

    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();

    std::byte* data() const { return data_; }
    std::uint64_t size() const { return size_; }  ///< as asked for; the mapping may be larger
    /// Of the whole mapping; empty where the kernel does not tell.
    const ObtainedBytes& obtained() const { return obtained_; }
    const PageMode& mode() const { return mode_; }

  private:
    Buffer() = default;
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0, mapped_ = 0;  ///< the mapping begins at data_
    std::uint64_t guard_ = 0;              ///< bytes kept inaccessible on both sides of the mapping
    PageMode mode_;
    ObtainedBytes obtained_;
};

}  // namespace tmaprobe::memory
