#include "memory/pages.h"

#include <sys/mman.h>

#include <utility>

namespace tmaprobe::memory {

Result<PageMode> parse_page_mode(std::string_view name) { return PageMode{std::string(name), 4096, false, false}; }

Result<Buffer> Buffer::allocate(std::uint64_t, const PageMode&, std::optional<int>) {
    return fail(ErrorCode::unavailable, "no memory yet");
}
Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }
Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    std::swap(mode_, other.mode_);
    std::swap(obtained_, other.obtained_);
    return *this;
}
Buffer::~Buffer() {
    if (data_) ::munmap(data_, mapped_);
}

}  // namespace tmaprobe::memory
