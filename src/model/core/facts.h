#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/core/causes.h"

namespace tmaprobe::model::core {

/// Sums over the simulated window. Slots: retiring + frontend + backend + bad_speculation + recovery
/// = slot_width * cycles, exactly.
struct PipelineFacts {
    std::uint64_t cycles = 0, instructions = 0, slots = 0;
    std::uint64_t uops = 0;                            ///< of the executed path, as slots count them
    std::uint64_t uops_wrong_path = 0;                 ///< dispatched after a mispredicted branch and thrown away
    std::uint64_t uops_microcode = 0, uops_heavy = 0;  ///< heavy: of instructions of more than one
    std::uint64_t macro_fused = 0;
    std::uint64_t slots_frontend = 0, slots_frontend_latency = 0;
    std::uint64_t slots_backend = 0, slots_backend_memory = 0, slots_recovery = 0;
    std::uint64_t cycles_frontend_none = 0;   ///< nothing was delivered though it could have been taken
    std::uint64_t cycles_decoder_switch = 0;  ///< of these, from the op cache to the decoders
    std::uint64_t cycles_resteer = 0;         ///< of these, fetch began anew after a misprediction
    std::uint64_t cycles_unknown_target = 0;  ///< of these, where the decoder had to find out a branch's target
    std::uint64_t cycles_no_execute = 0, cycles_no_execute_load = 0;
    std::uint64_t cycles_one_execute = 0, cycles_two_execute = 0;
    std::uint64_t cycles_store_bound = 0;  ///< nothing executed, no load in flight, store buffer full
    std::uint64_t cycles_load_in_flight = 0;
    std::uint64_t cycles_l1_miss = 0, cycles_no_execute_l1_miss = 0;  ///< a load waits for more than the first level
    std::uint64_t cycles_no_execute_l2_miss = 0,
                  cycles_no_execute_l3_miss = 0;                    ///< from beyond the second; from memory
    std::uint64_t cycles_no_retire = 0, cycles_no_retire_load = 0;  ///< the oldest is not complete; and is a load
    std::uint64_t cycles_dispatch_nothing = 0;
    std::uint64_t cycles_backend_none = 0;         ///< of these, refused by the back end
    std::uint64_t cycles_backend_none_memory = 0;  ///< of these, the oldest waits for memory or stores have no room
    std::uint64_t cycles_store_buffer_full = 0;    ///< a store could not be dispatched for want of room
    std::uint64_t branches = 0, branches_taken = 0, conditional_branches = 0, mispredicts = 0;
    std::uint64_t unknown_targets = 0;  ///< branches whose target the decoder had to find out
    std::uint64_t loads = 0, stores = 0;
    std::uint64_t loads_aliased = 0;  ///< held up by a store to another page at the same place in it
    std::uint64_t unmodelled = 0;     ///< executed instructions that the core model does not know
    SlotsByCause by_cause{};          ///< all slots, each once
};

/// The difference of two snapshots.
PipelineFacts operator-(const PipelineFacts& later, const PipelineFacts& earlier);

/// Adds up.
PipelineFacts& operator+=(PipelineFacts& sum, const PipelineFacts& more);

/// By name, as mapping files call them.
std::map<std::string, double> named(const PipelineFacts& facts);

}  // namespace tmaprobe::model::core
