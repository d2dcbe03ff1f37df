#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <utility>
#include <vector>

#include "memory/limits.h"
#include "memory/obtained.h"
#include "memory/pages.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace tmaprobe::memory {
namespace {

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

/// Binds a mapping that nobody has touched yet to one NUMA node.
Result<> bind(std::byte* data, std::uint64_t bytes, int node) {
    const std::filesystem::path folder = fmt::format("/sys/devices/system/node/node{}", node);
    if (node < 0 || (node > 0 && !std::filesystem::exists(folder)))
        return fail(ErrorCode::bad_usage, fmt::format("there is no NUMA node {}", node),
                    "see /sys/devices/system/node for those that there are");
    constexpr std::size_t bits = 8 * sizeof(unsigned long);
    std::vector<unsigned long> mask(static_cast<std::size_t>(node) / bits + 1);
    mask.back() = 1UL << (static_cast<std::size_t>(node) % bits);
    // The kernel reads one bit less than it is told.
    if (::syscall(SYS_mbind, data, bytes, MPOL_BIND, mask.data(), mask.size() * bits + 1, 0U) == 0) return {};
    if (errno == ENOSYS && node == 0) return {};
    return fail_errno(errno, fmt::format("memory cannot be bound to NUMA node {}", node),
                      "in a container this needs the capability SYS_NICE");
}

/// Anonymous memory at a multiple of `alignment`, with `guard` inaccessible bytes on both sides.
std::byte* map_aligned(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t guard) {
    const std::uint64_t whole = bytes + alignment + 2 * guard;
    void* const start = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    const auto first = reinterpret_cast<std::uintptr_t>(start);
    const std::uintptr_t data = round_up(first + guard, alignment);
    const std::uintptr_t end = data + bytes + guard;
    if (data - guard > first) ::munmap(start, data - guard - first);
    if (first + whole > end) ::munmap(reinterpret_cast<void*>(end), first + whole - end);
    auto* const result = reinterpret_cast<std::byte*>(data);
    if (::mprotect(result, bytes, PROT_READ | PROT_WRITE) == 0) return result;
    ::munmap(result - guard, bytes + 2 * guard);
    return nullptr;
}

/// Shared, so that a forked child writes to the same pages instead of needing as many again.
std::byte* map_hugetlb(std::uint64_t bytes, std::uint64_t page_bytes) {
    const int size = std::countr_zero(page_bytes) << MAP_HUGE_SHIFT;
    void* const start =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | size, -1, 0);
    return start == MAP_FAILED ? nullptr : static_cast<std::byte*>(start);
}

Result<> check_fits(std::uint64_t bytes, const PageMode& mode, std::optional<int> numa_node) {
    if (bytes == 0) return fail(ErrorCode::bad_usage, "a size of 0 bytes holds nothing to measure");
    if (bytes >> 62) return fail(ErrorCode::bad_usage, "more bytes than any machine can address");
    return mode.hugetlb ? check_huge_pages(bytes, mode, {}, numa_node) : check_memory(bytes, {}, numa_node);
}

}  // namespace

Result<Buffer> Buffer::map(std::uint64_t bytes, const PageMode& asked, std::optional<int> numa_node) {
    PageMode mode = asked;
    if (mode.page_bytes == 0) mode = page_modes().front();
    TRY(check_fits(bytes, mode, numa_node));

    Buffer buffer;
    buffer.size_ = bytes;
    buffer.mode_ = mode;
    buffer.mapped_ = round_up(bytes, mode.page_bytes);
    if (mode.hugetlb) {
        buffer.data_ = map_hugetlb(buffer.mapped_, mode.page_bytes);
    } else {
        // The guard keeps the kernel from merging this mapping with a neighbour, whose pages verify()
        // would then count too. Base pages are aligned as huge ones are, so that modes differ in pages alone.
        buffer.guard_ = base_page_bytes();
        constexpr std::uint64_t two_mebibytes = std::uint64_t{2} << 20;
        const std::uint64_t alignment = std::max(mode.page_bytes, std::min(two_mebibytes, bytes));
        buffer.data_ = map_aligned(buffer.mapped_, std::bit_ceil(alignment), buffer.guard_);
    }
    if (!buffer.data_)
        return fail(ErrorCode::unavailable,
                    fmt::format("the kernel has no {} bytes in pages of {} to give", buffer.mapped_, mode.name),
                    "choose a smaller --size or other --pages");
    // Without transparent huge pages in the kernel these fail, and there is nothing to refuse or to ask for.
    if (mode.transparent) ::madvise(buffer.data_, buffer.mapped_, MADV_HUGEPAGE);
    if (!mode.transparent && !mode.hugetlb) ::madvise(buffer.data_, buffer.mapped_, MADV_NOHUGEPAGE);
    if (numa_node) TRY(bind(buffer.data_, buffer.mapped_, *numa_node));
    return buffer;
}

Result<Buffer> Buffer::allocate(std::uint64_t bytes, const PageMode& mode, std::optional<int> numa_node) {
    Result<Buffer> buffer = map(bytes, mode, numa_node);
    if (!buffer) return buffer;
    TRY(buffer->fault_in(0, bytes));
    buffer->verify();
    return buffer;
}

Result<> Buffer::fault_in(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t page = mode_.page_bytes;
    const std::uint64_t from = offset / page * page;
    const std::uint64_t to = std::min(mapped_, round_up(offset + bytes, page));
    // Populating fails with an error where touching would end in a signal (a pool's own limit).
    if (::madvise(data_ + from, to - from, MADV_POPULATE_WRITE) == 0) return {};
    if (errno != EINVAL)  // before Linux 5.14 there was no such advice
        return fail(ErrorCode::unavailable, fmt::format("the kernel ran out of pages of {}", mode_.name),
                    "choose a smaller --size, or see the limits of the control group");
    for (std::uint64_t at = from; at < to; at += base_page_bytes()) *reinterpret_cast<volatile char*>(data_ + at) = 0;
    return {};
}

void Buffer::verify() { obtained_ = obtained_bytes(reinterpret_cast<std::uintptr_t>(data_)); }

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }
Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    std::swap(guard_, other.guard_);
    std::swap(mode_, other.mode_);
    std::swap(obtained_, other.obtained_);
    return *this;
}
Buffer::~Buffer() {
    if (data_) ::munmap(data_ - guard_, mapped_ + 2 * guard_);
}

}  // namespace tmaprobe::memory
