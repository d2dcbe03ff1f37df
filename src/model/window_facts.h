#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "counters/slot_attribution.h"
#include "model/mapping.h"
#include "record/kinds.h"

namespace tmaprobe::model {

/// What the steps of a window took that were in some regions.
struct RegionFacts {
    std::uint32_t path = 0;  ///< trace::Step::regions
    Facts facts;
};

/// What one thing that is not known may change.
struct FactVariation {
    record::Variation what = record::Variation::window;
    Facts facts;
    counters::InstructionSlots slots{};  ///< of a single window, where they are asked for
    counters::AccessSlots accesses{};
    std::vector<RegionFacts> regions{};  ///< where they are asked for
};

/// One window simulated as it is and with each variation.
struct WindowFacts {
    Facts base;
    std::vector<FactVariation> variations;
    bool varied = true;                 ///< some of it was simulated with what is not known changed, too
    std::vector<std::uint32_t> logged;  ///< of which windows of the log it is the sum, where there is one
    double at_ns = 0;                   ///< processor time of all that is sampled until then
    double at_look = 0;                 ///< looks at its process until then, as counters::perf::TimeProfile::Look
    double native_ns = 0;               ///< that it stands for
    std::uint32_t kind = 0;             ///< moments of one kind execute the same code (weigh_by_looks())
    std::vector<std::uint32_t> beside;  ///< windows of the moment that are not in it yet (WindowsBeside)
    std::vector<Facts> parts;           ///< of a moment with several windows: each of them; `base` is their sum
    std::map<std::uint64_t, double> time_by_address;  ///< slots of each instruction, where they are asked for
    /// The same of each path of regions (trace::Step::regions), where both are asked for.
    std::map<std::uint32_t, std::map<std::uint64_t, double>> time_by_region;
    std::vector<RegionFacts> regions;  ///< where they are asked for; add up to `base`
    // Where slots are attributed to instructions:
    counters::InstructionSlots slots;
    counters::InstructionEvents events;
    counters::AccessSlots accesses;  ///< also where only these are asked for
    counters::ExecutedRuns runs;
    std::optional<counters::LoopTimes> loop;
    counters::CallPaths calls;
    std::optional<process::StackTop> stack;  ///< where `calls` begin
    std::vector<counters::AllocatedBlocks> blocks;
    pid_t process = 0;
    std::vector<process::MemoryMapping> mappings;  ///< of the process at that time
};

/// Nothing was simulated, nor is.
bool is_nothing(const WindowFacts& facts);
/// Another window of the same moment, slots of instructions left aside. Where one of the two was not simulated with
/// what is not known changed, that changes as much in it, by its cycles, as in the other.
void merge(WindowFacts& sum, const WindowFacts& more);
/// A variation of these windows, which were not simulated with that changed: they change as much in it, by their
/// cycles, as others did.
FactVariation vary_alike(const WindowFacts& windows, const WindowFacts& others, const FactVariation& varied);
/// 0 where there is no such fact.
double value_of(const Facts& facts, std::string_view name);
double cycles_of(const Facts& facts);
void add(Facts& sum, const Facts& more, double weight);

}  // namespace tmaprobe::model
