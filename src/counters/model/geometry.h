#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/model/core/simulate.h"
#include "events/table.h"

namespace tmaprobe::counters::model {

struct CacheGeometry {
    std::uint64_t size_bytes = 0;
    unsigned ways = 8;
    unsigned latency = 0;  ///< load to use, cycles
    bool latency_estimated = false;  ///< no published figure: varied with that of DRAM
    bool victim = false;   ///< filled by what the level above evicts, and gives back what is hit
};

/// One translation buffer that holds the page sizes named.
struct TlbGeometry {
    int level = 1;
    bool data = true, code = false;
    std::vector<std::uint64_t> page_bytes;
    unsigned entries = 0;
    int ways = -1;  ///< -1: fully associative
};

struct TranslationGeometry {
    unsigned l2_hit_cycles = 7;
    unsigned walkers = 1;
    unsigned walk_step_cycles = 6;       ///< per level of the page table, besides the caches' own time
    unsigned upper_level_entries = 32;   ///< of the caches of page directory entries
    unsigned walk_starts_at_level = 2;   ///< first cache level that the walker asks
};

struct PrefetcherGeometry {
    bool next_line = true;
    unsigned streams = 16;         ///< 0: no stream prefetcher
    unsigned distance_lines = 12;
    bool cross_pages = false;      ///< a stream goes on into the next page, its translation fetched on the way
};

struct MemoryGeometry {
    double latency_ns = 100, latency_low_ns = 80, latency_high_ns = 125;
    double bandwidth_bytes_per_second = 20e9;  ///< that one core can draw
    unsigned outstanding_l1_misses = 12, outstanding_l2_misses = 32;
};

/// Instructions that LLVM's scheduling model of this CPU is known to get wrong.
struct KnownWrong {
    std::vector<std::vector<std::uint8_t>> bytes;  ///< any of these sequences in an instruction's encoding
    std::string what;                              ///< said where such instructions were executed
};

/// All that the model knows of one CPU, from events/<folder>/geometry.json.
struct Geometry {
    core::CoreParameters core;
    std::string borrowed_model;  ///< said where LLVM has no scheduling model of its own for this CPU
    CacheGeometry l1_data, l1_code, l2, l3;
    std::vector<TlbGeometry> tlbs;
    TranslationGeometry translation;
    PrefetcherGeometry prefetchers;
    MemoryGeometry memory;
    std::vector<KnownWrong> known_wrong;
    double frequency_hz = 3e9;  ///< turns nanoseconds into cycles
};

/// Errors: unavailable when the folder has no geometry or no core in it; bad_input for a malformed file.
Result<Geometry> load_geometry(const events::Library& library, const events::Table& table);

/// The same from a file's text; `cpu_id` chooses among cores that share a folder.
Result<Geometry> parse_geometry(const std::string& text, const std::string& file, const std::string& cpu_id);

}  // namespace tmaprobe::counters::model
