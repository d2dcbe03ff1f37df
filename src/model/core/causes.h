#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tmaprobe::model::core {

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
    CAUSE(store_buffer)                                                                                            \
    CAUSE(lock)                                                                                                    \
    CAUSE(serialization)
// clang-format on

enum class SlotCause : std::uint8_t {
#define TMAPROBE_CAUSE(name) name,
    TMAPROBE_CAUSES(TMAPROBE_CAUSE)
#undef TMAPROBE_CAUSE
};
inline constexpr const char* cause_names[] = {
#define TMAPROBE_CAUSE(name) #name,
    TMAPROBE_CAUSES(TMAPROBE_CAUSE)
#undef TMAPROBE_CAUSE
};
inline constexpr std::size_t cause_count = sizeof cause_names / sizeof cause_names[0];
using SlotsByCause = std::array<std::uint64_t, cause_count>;

/// Whether top-down formulas have it under memory.
constexpr bool is_memory(SlotCause cause) { return cause >= SlotCause::l2 && cause <= SlotCause::lock; }

/// Hears of every slot, with the instruction (an index into the trace's instructions) that it is put down to.
class SlotObserver {
  public:
    virtual ~SlotObserver() = default;
    virtual void slots(SlotCause cause, std::uint32_t instruction, std::uint64_t count) = 0;
};

}  // namespace tmaprobe::model::core
