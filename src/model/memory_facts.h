#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tmaprobe::model {

// clang-format off
/// What the memory system counts, under the names that mapping files use. Those of a page size follow one
/// another: 4 KiB, 2 MiB, 1 GiB.
#define TMAPROBE_MEMORY_FACTS(FACT)                                                                                   \
    FACT(l1d_fills) FACT(l1d_fills_l2) FACT(l1d_fills_l3) FACT(l1d_fills_memory)                                       \
    FACT(l1d_demand_fills) FACT(l1d_demand_fills_l2) FACT(l1d_demand_fills_l3) FACT(l1d_demand_fills_memory)           \
    FACT(l2_hits) FACT(l2_misses) FACT(l2_code_hits) FACT(l2_code_misses) FACT(l3_hits) FACT(l3_misses)                \
    FACT(loads_l1_hit) FACT(loads_l1_miss) FACT(loads_l2_hit) FACT(loads_l2_miss) FACT(loads_l3_hit)                   \
    FACT(loads_l3_miss) FACT(loads_in_flight_hit)                                                                      \
    FACT(fill_buffers_full_periods) FACT(fill_buffers_full_cycles)                                                     \
    FACT(dtlb_misses) FACT(dtlb_l2_hits_4k) FACT(dtlb_l2_hits_2m) FACT(dtlb_l2_hits_1g)                                \
    FACT(walks) FACT(walks_4k) FACT(walks_2m) FACT(walks_1g)                                                           \
    FACT(load_stlb_hits) FACT(load_walks) FACT(load_walks_4k) FACT(load_walks_2m) FACT(load_walks_1g)                  \
    FACT(load_walk_cycles)                                                                                             \
    FACT(store_stlb_hits) FACT(store_walks) FACT(store_walks_4k) FACT(store_walks_2m) FACT(store_walks_1g)             \
    FACT(store_walk_cycles)                                                                                            \
    FACT(itlb_l2_hits) FACT(itlb_walks) FACT(itlb_walks_4k) FACT(itlb_walks_2m) FACT(itlb_walks_1g)                    \
    FACT(itlb_walk_cycles)                                                                                             \
    FACT(lines_from_memory) FACT(lines_prefetched) FACT(lines_unknown) FACT(pages_unknown)
// clang-format on

enum class MemoryFact : std::size_t {
#define TMAPROBE_FACT(name) name,
    TMAPROBE_MEMORY_FACTS(TMAPROBE_FACT)
#undef TMAPROBE_FACT
};

inline constexpr const char* memory_fact_names[] = {
#define TMAPROBE_FACT(name) #name,
    TMAPROBE_MEMORY_FACTS(TMAPROBE_FACT)
#undef TMAPROBE_FACT
};
inline constexpr std::size_t memory_fact_count = sizeof memory_fact_names / sizeof memory_fact_names[0];

/// In the order of the list.
using MemoryCounts = std::array<std::uint64_t, memory_fact_count>;

/// The fact that stands `steps` further in the list.
constexpr MemoryFact further(MemoryFact fact, std::size_t steps) {
    return static_cast<MemoryFact>(static_cast<std::size_t>(fact) + steps);
}

}  // namespace tmaprobe::model
