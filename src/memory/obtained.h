#pragma once

#include <cstdint>
#include <string_view>

#include "memory/pages.h"

namespace tmaprobe::memory {

/// Resident bytes by page size of the mapping that begins at `address`, out of the text of
/// /proc/self/smaps: AnonHugePages are transparent huge pages of `transparent_bytes`, the rest of Rss has
/// base pages, and the Hugetlb lines count pages of KernelPageSize. Empty when the mapping is not there.
ObtainedBytes parse_smaps(std::string_view smaps, std::uintptr_t address, std::uint64_t transparent_bytes);

/// The same for this process, now. Empty when /proc does not tell.
ObtainedBytes obtained_bytes(std::uintptr_t address);

}  // namespace tmaprobe::memory
