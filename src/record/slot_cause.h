#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/names.h"

namespace tmaprobe::record {

// clang-format off
/// What became of a slot. Each has exactly one cause; together they are width times cycles.
#define TMAPROBE_CAUSES(CAUSE)                                                                                     \
    CAUSE(retiring)                                                                                                \
    CAUSE(wrong_path)         /* micro-ops after a mispredicted branch */                                          \
    CAUSE(recovery)           /* the core puts itself right after one, as far as that is counted apart */          \
    CAUSE(resteer)            /* the front end begins again at the right place */                                  \
    CAUSE(instruction_cache)  /* code or its translation is not at hand */                                         \
    CAUSE(decoder_switch)     /* from the op cache to the decoders */                                              \
    CAUSE(microcode)          /* from and to the sequencer */                                                      \
    CAUSE(taken_branch)       /* nothing more is fetched in the cycle of one */                                    \
    CAUSE(fetch_bandwidth)    /* fewer arrived than had room */                                                    \
    CAUSE(dependency)         /* the oldest executes, in time of its own, without memory */                        \
    CAUSE(port)               /* the oldest waits for a port */                                                    \
    CAUSE(retirement)         /* buffers are full, the oldest is done */                                           \
    CAUSE(l1)                 /* the oldest loads, from the first level */                                         \
    CAUSE(l2) CAUSE(l3) CAUSE(dram)                                                                                \
    CAUSE(line_on_its_way)    /* asked for before, by a prefetcher or another load */                              \
    CAUSE(translation)        /* a second-level TLB or a page walk */                                              \
    CAUSE(forwarding)         /* from a store, that has to be waited for */                                        \
    CAUSE(aliasing)           /* from its place, after a store to another page at the same place in it */            \
    CAUSE(store_buffer)                                                                                            \
    CAUSE(lock)                                                                                                    \
    CAUSE(serialization)
// clang-format on

enum class SlotCause : std::uint8_t {
#define TMAPROBE_CAUSE(name) name,
    TMAPROBE_CAUSES(TMAPROBE_CAUSE)
#undef TMAPROBE_CAUSE
};

}  // namespace tmaprobe::record

namespace tmaprobe {

template <>
struct Names<record::SlotCause> {
    static constexpr auto values = std::to_array<std::pair<record::SlotCause, std::string_view>>({
#define TMAPROBE_CAUSE(name) {record::SlotCause::name, #name},
        TMAPROBE_CAUSES(TMAPROBE_CAUSE)
#undef TMAPROBE_CAUSE
    });
};

}  // namespace tmaprobe
