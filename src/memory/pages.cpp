#include "memory/pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/sizes.h"
#include "base/suggest.h"

namespace tmaprobe::memory {
namespace {

/// Sizes of the hugetlb pools that this kernel has, smallest first.
std::vector<std::uint64_t> hugetlb_sizes() {
    std::vector<std::uint64_t> sizes;
    std::error_code error;
    constexpr std::string_view prefix = "hugepages-";
    for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", error)) {
        const std::string name = entry.path().filename();
        std::uint64_t kilobytes = 0;
        if (name.rfind(prefix, 0) != 0) continue;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), kilobytes);
        if (kilobytes) sizes.push_back(kilobytes << 10);
    }
    std::sort(sizes.begin(), sizes.end());
    return sizes;
}

/// The size of a transparent huge page; 0 where the kernel has none.
std::uint64_t transparent_bytes() {
    std::uint64_t bytes = 0;
    const std::string line = read_line("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    std::from_chars(line.data(), line.data() + line.size(), bytes);
    return bytes;
}

std::vector<std::string> names(const std::vector<PageMode>& modes) {
    std::vector<std::string> result;
    for (const PageMode& mode : modes) result.push_back(mode.name);
    return result;
}

}  // namespace

std::uint64_t base_page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

std::vector<PageMode> page_modes() {
    std::vector<PageMode> modes{{format_page_size(base_page_bytes()), base_page_bytes(), false, false}};
    if (const std::uint64_t bytes = transparent_bytes()) modes.push_back({"thp", bytes, false, true});
    for (const std::uint64_t bytes : hugetlb_sizes()) modes.push_back({format_page_size(bytes), bytes, true, false});
    return modes;
}

Result<PageMode> parse_page_mode(std::string_view name) {
    const std::vector<PageMode> modes = page_modes();
    for (const PageMode& mode : modes)
        if (mode.name == name) return mode;
    const std::string exist = fmt::format("this machine has {}", fmt::join(names(modes), ", "));
    // What some other machine calls a page mode is not a slip of the pen.
    constexpr std::string_view known[] = {"4k", "16k", "64k", "thp", "1m", "2m", "16m", "32m", "512m", "1g", "16g"};
    if (std::find(std::begin(known), std::end(known), name) != std::end(known))
        return fail(ErrorCode::unavailable, fmt::format("this machine has no page mode '{}'", name), exist);
    const std::string hint = suggest(name, names(modes));
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a page mode", name), hint.empty() ? exist : hint);
}

}  // namespace tmaprobe::memory
