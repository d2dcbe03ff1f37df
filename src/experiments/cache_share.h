#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/host.h"
#include "record/findings.h"

namespace tmaprobe::experiments {

/// The data cache before memory, of the third level or beyond; nullptr: none is known.
const machine::Cache* last_level(const machine::Host& host);

/// Whether a block within the cache seemed slower than memory: then the time went elsewhere, and no
/// share can be told.
bool impossible(const record::CacheShare& share);

/// Judges the points: a block stayed when its kept latency is nearer (as a ratio) to the refreshed one
/// than to memory's, and every smaller one stayed as well.
std::uint64_t effective_share(const std::vector<record::SharePoint>& points, double memory_ns);

/// In words: "of the last-level cache (32M) blocks up to 12M stay cached while they are used".
std::string describe(const record::CacheShare& share);

/// Chases blocks of an eighth of the last-level cache up to all of it, on one CPU: about a second.
/// Errors: unavailable when no last-level cache is known, memory or the CPU cannot be had, or the points are
/// impossible.
Result<record::CacheShare> measure_cache_share(const machine::Host& host, int cpu);

}  // namespace tmaprobe::experiments
