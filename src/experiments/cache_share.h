#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/host.h"

namespace tmaprobe::experiments {

/// One block size chased in two ways, ns per load.
struct SharePoint {
    std::uint64_t size_bytes = 0;
    double kept_ns = 0;       ///< lap after lap: what neighbours let us keep
    double refreshed_ns = 0;  ///< in short bursts, just after reading the block: the cache as it is built
};

/// How much of the last-level cache this machine really gives one core now.
struct CacheShare {
    std::uint64_t cache_bytes = 0;      ///< what the machine says
    std::uint64_t effective_bytes = 0;  ///< largest block that stayed; 0: not even the smallest one
    double memory_ns = 0;               ///< of a block three times the cache
    std::vector<SharePoint> points;     ///< ascending
};

/// Whether a block within the cache seemed slower than memory: then the time went elsewhere, and no
/// share can be told.
bool impossible(const CacheShare& share);

/// Judges the points: a block stayed when its kept latency is nearer (as a ratio) to the refreshed one
/// than to memory's, and every smaller one stayed as well.
std::uint64_t effective_share(const std::vector<SharePoint>& points, double memory_ns);

/// As a record keeps it under extra["cache_share"]: bytes, and ns per load of each point.
nlohmann::json to_json(const CacheShare& share);

/// In words: "of the last-level cache (32M) blocks up to 12M stay cached while they are used".
std::string describe(const CacheShare& share);

/// Chases blocks of an eighth of the last-level cache up to all of it, on one CPU: about a second.
/// Errors: unavailable when no last-level cache is known, memory or the CPU cannot be had, or the points are impossible.
Result<CacheShare> measure_cache_share(const machine::Host& host, int cpu);

}  // namespace tmaprobe::experiments
