#include "memory/obtained.h"

#include "base/sizes.h"

#include <charconv>

#include "base/file.h"

namespace tmaprobe::memory {
namespace {

/// The number after "Key:" in kB as bytes; 0 for another key.
std::uint64_t bytes_of(std::string_view line, std::string_view key) {
    if (line.substr(0, key.size()) != key || line.substr(key.size(), 1) != ":") return 0;
    const auto digits = line.find_first_of("0123456789", key.size());
    std::uint64_t kilobytes = 0;
    if (digits != std::string_view::npos) std::from_chars(line.data() + digits, line.data() + line.size(), kilobytes);
    return kilobytes << 10;
}

/// The start address of a mapping's headline "start-end rwxp ..."; empty for any other line.
std::optional<std::uintptr_t> headline_address(std::string_view line) {
    std::uintptr_t address = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const bool headline = error == std::errc{} && end != line.data() + line.size() && *end == '-';
    return headline ? std::optional(address) : std::nullopt;
}

}  // namespace

ObtainedBytes parse_smaps(std::string_view smaps, std::uintptr_t address, std::uint64_t transparent_bytes) {
    bool here = false;
    std::uint64_t resident = 0, transparent = 0, hugetlb = 0, page = 0;
    while (!smaps.empty()) {
        const std::string_view line = smaps.substr(0, smaps.find('\n'));
        smaps.remove_prefix(std::min(smaps.size(), line.size() + 1));
        if (const auto start = headline_address(line)) {
            if (here) break;
            here = *start == address;
            continue;
        }
        if (!here) continue;
        resident += bytes_of(line, "Rss");
        transparent += bytes_of(line, "AnonHugePages");
        hugetlb += bytes_of(line, "Private_Hugetlb") + bytes_of(line, "Shared_Hugetlb");
        page += bytes_of(line, "KernelPageSize");
    }
    ObtainedBytes obtained;
    if (hugetlb) obtained[format_page_size(page)] = hugetlb;
    if (transparent) obtained[format_page_size(transparent_bytes)] = transparent;
    if (resident > transparent) obtained[format_page_size(page)] += resident - transparent;
    return obtained;
}

ObtainedBytes obtained_bytes(std::uintptr_t address) {
    const auto smaps = read_file("/proc/self/smaps");
    if (!smaps) return {};
    std::uint64_t transparent = 0;
    for (const PageMode& mode : page_modes())
        if (mode.transparent) transparent = mode.page_bytes;
    return parse_smaps(*smaps, address, transparent);
}

}  // namespace tmaprobe::memory
