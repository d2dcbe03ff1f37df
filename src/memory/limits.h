#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.h"
#include "memory/pages.h"

namespace tmaprobe::memory {

/// Where the kernel shows its state; another root serves tests.
struct SystemFiles {
    std::filesystem::path proc = "/proc";
    std::filesystem::path sys = "/sys";
};

/// What holds the memory of this process down, the tightest first met.
struct Available {
    std::uint64_t bytes = 0;
    std::string what;  ///< "memory available", "the control group /x allows", ...
};

/// Memory that this process can still take without the kernel killing anybody: the least of what the
/// machine (or the NUMA node) has available, every enclosing control group (v1 and v2) leaves and the
/// resource limits on address space and data leave. Empty when nothing tells.
std::optional<Available> available_memory(const SystemFiles& files, std::optional<int> numa_node);

/// Refuses what does not fit, before a page is touched. Errors: unavailable, with what there is.
Result<> check_memory(std::uint64_t bytes, const SystemFiles& files, std::optional<int> numa_node);

/// The folder of the pool of the mode's page size.
std::filesystem::path huge_page_pool(const PageMode& mode, const SystemFiles& files, std::optional<int> numa_node);

/// Pages of the pool that a new mapping would get.
std::uint64_t free_huge_pages(const PageMode& mode, const SystemFiles& files, std::optional<int> numa_node);

/// Whether the kernel gives transparent huge pages to who asks for them; yes where it does not tell.
bool transparent_pages_allowed(const SystemFiles& files);

/// Refuses transparent huge pages that are switched off. Errors: unavailable, with the command that allows them.
Result<> check_transparent_pages(const SystemFiles& files);

/// Refuses when the pool has too few free pages of the mode's size. Errors: unavailable, with how many
/// there are and the command that reserves them.
Result<> check_huge_pages(std::uint64_t bytes, const PageMode& mode, const SystemFiles& files,
                          std::optional<int> numa_node);

}  // namespace tmaprobe::memory
