#pragma once

#include <sys/types.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "process/mappings.h"
#include "process/stack_top.h"
#include "record/kinds.h"
#include "record/slot_cause.h"
#include "record/where.h"

namespace tmaprobe::counters {

inline constexpr std::size_t slot_causes = Names<record::SlotCause>::values.size();
using SlotsByCause = std::array<std::uint64_t, slot_causes>;

/// Slots of each instruction of a window, by cause, in little room: addresses and the counts that are not 0.
class InstructionSlots {
  public:
    /// Each address once.
    void add(std::uint64_t address, const SlotsByCause& slots);
    /// Calls `visit(std::uint64_t address, const SlotsByCause&)` for each.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t at = 0; at + 1 < numbers.size();) {
            SlotsByCause slots{};
            const std::uint64_t address = numbers[at], causes = numbers[at + 1];
            at += 2;
            for (std::size_t cause = 0; cause < slot_causes; ++cause)
                if (causes >> cause & 1 && at < numbers.size()) slots[cause] = numbers[at++];
            visit(address, slots);
        }
    }
    bool empty() const { return numbers.empty(); }

    std::vector<std::uint64_t> numbers;  ///< of each: address, a bit for each cause that has slots, and these slots
};

/// Slots that waits for memory took, by the instruction that waited and the page that it waited for, in little room.
class AccessSlots {
  public:
    struct Access {
        std::uint64_t instruction = 0;  ///< address
        std::uint64_t data = 0;         ///< address of what was accessed, one of those in its page; 0: not known
        bool in_huge_page = false;      ///< what lies there has larger pages than the smallest
        std::uint32_t allocation = 0;   ///< number below 2^24 of the calls that allocated it; 0: not known
        SlotsByCause slots{};
    };
    void add(const Access& access);
    /// Calls `visit(const Access&)` for each.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t at = 0; at + 2 < numbers.size();) {
            const std::uint64_t causes = numbers[at + 2];
            Access access{numbers[at],
                          numbers[at + 1],
                          (causes & huge) != 0,
                          static_cast<std::uint32_t>(causes >> allocation_at & most_allocations),
                          {}};
            at += 3;
            for (std::size_t cause = 0; cause < slot_causes; ++cause)
                if (causes >> cause & 1 && at < numbers.size()) access.slots[cause] = numbers[at++];
            visit(access);
        }
    }
    bool empty() const { return numbers.empty(); }

    static constexpr std::uint64_t most_allocations = (std::uint64_t{1} << 24) - 1;

    /// Of each: instruction, data, a bit for each cause that has slots, with the allocation above these, the slots.
    std::vector<std::uint64_t> numbers;

  private:
    static constexpr std::uint64_t huge = std::uint64_t{1} << 63;
    static constexpr unsigned allocation_at = 32;
    static_assert(slot_causes <= allocation_at);
};

/// What the instructions of a window met that load, or were mispredicted: by address, in little room.
class InstructionEvents {
  public:
    struct Counts {
        std::uint64_t executions = 0, loads = 0, missed_l1 = 0;
        std::uint64_t load_cycles = 0;  ///< from issue until the data were there, of all loads
        std::uint64_t mispredictions = 0;
    };
    void add(std::uint64_t address, const Counts& counts) {
        numbers.insert(numbers.end(), {address, counts.executions, counts.loads, counts.missed_l1, counts.load_cycles,
                                       counts.mispredictions});
    }
    /// Calls `visit(std::uint64_t address, const Counts&)` for each.
    template <class Visit>
    void for_each(Visit&& visit) const {
        constexpr std::size_t of_each = 6;
        for (std::size_t at = 0; at + of_each <= numbers.size(); at += of_each)
            visit(numbers[at],
                  Counts{numbers[at + 1], numbers[at + 2], numbers[at + 3], numbers[at + 4], numbers[at + 5]});
    }
    bool empty() const { return numbers.empty(); }

    std::vector<std::uint64_t> numbers;  ///< of each: address and counts, in their order
};

/// Instructions that were executed one after the other as they lie in memory, up to a branch.
struct ExecutedRun {
    std::uint64_t begin = 0, last = 0;  ///< addresses of the first and of the last instruction
    std::uint64_t next = 0;  ///< where the same call of the function went on: after a call behind it; 0: not known

    auto operator<=>(const ExecutedRun&) const = default;
};

/// The different runs of a window, by address, in little room.
class ExecutedRuns {
  public:
    void add(const ExecutedRun& run) { numbers.insert(numbers.end(), {run.begin, run.last, run.next}); }
    /// Calls `visit(const ExecutedRun&)` for each.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t at = 0; at + 2 < numbers.size(); at += 3)
            visit(ExecutedRun{numbers[at], numbers[at + 1], numbers[at + 2]});
    }
    bool empty() const { return numbers.empty(); }

    std::vector<std::uint64_t> numbers;  ///< of each: begin, last, next
};

/// An instruction of one time around a loop; cycles count from when the first of them was renamed.
struct LoopStepTimes {
    std::uint64_t address = 0;
    std::uint64_t renamed = 0, issued = 0, done = 0, retired = 0;
    std::vector<std::string> ports;
    std::optional<std::uint64_t> waits_for;  ///< as record::LoopStep
};

/// The loop that the instruction with most slots of a window is in: one time around it, as it went most often.
struct LoopTimes {
    std::uint64_t hottest = 0;  ///< address of that instruction
    double cycles = 0;          ///< of a time around: the median
    std::uint64_t times_around = 0;
    std::vector<LoopStepTimes> steps;
    std::vector<std::uint64_t> chain, chain_cycles;  ///< steps, each waiting for the one before it; to the next one
    std::uint64_t chain_times_around = 0;            ///< 0: it does not come back to its begin
    std::map<std::string, double> port_cycles;       ///< of a time around
};

/// Slots of each instruction by the calls that led to it since before a window began, in little room.
struct CallPaths {
    struct Call {
        static constexpr std::uint32_t none = ~0u;  ///< it is no call, but where the thread was without any
        static constexpr std::uint32_t lost = ~0u;  ///< so many calls that nobody knows how many
        std::uint32_t from = none;                  ///< index of the call that it was made in
        std::uint32_t returned = 0;  ///< of none: how many of the calls before those that are listed have returned
        std::uint64_t site = 0;      ///< address of the call; of none: that the last of these returned to
    };
    void add(std::uint32_t call, std::uint64_t address, const SlotsByCause& slots);
    /// Calls `visit(std::uint32_t call, std::uint64_t address, const SlotsByCause&)` for each.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t at = 0; at + 2 < numbers.size();) {
            SlotsByCause slots{};
            const auto call = static_cast<std::uint32_t>(numbers[at]);
            const std::uint64_t address = numbers[at + 1], causes = numbers[at + 2];
            at += 3;
            for (std::size_t cause = 0; cause < slot_causes; ++cause)
                if (causes >> cause & 1 && at < numbers.size()) slots[cause] = numbers[at++];
            visit(call, address, slots);
        }
    }

    std::vector<Call> calls;             ///< each after the one that it was made in
    std::vector<std::uint64_t> numbers;  ///< of each: call, address, a bit for each cause that has slots, the slots
};

/// The slots of a window with one thing changed that is not known; see Sample::variations.
struct VariedSlots {
    record::Variation what = record::Variation::window;
    InstructionSlots slots;
    AccessSlots accesses;
};

/// Blocks that were allocated by the same calls.
struct AllocatedBlocks {
    std::uint32_t allocation = 0;  ///< the number of these calls
    std::uint64_t blocks = 0, bytes = 0;
};

/// A call that led to allocations.
struct AllocatingCall {
    std::uint32_t from = 0;  ///< number of the one that it was made in; 0: none is known
    std::uint64_t site = 0;  ///< address of the call
};

struct AttributedWindow {
    pid_t process = 0;
    std::size_t mappings = 0;  ///< index into SlotAttribution::mappings
    double weight = 1;         ///< in the sums over all windows
    InstructionSlots slots;
    InstructionEvents events;
    std::vector<VariedSlots> variations;  ///< none: all are as `slots`
    ExecutedRuns runs;
    AccessSlots accesses;
    std::vector<process::MemoryMapping> memory;  ///< of the process at that time
    std::optional<LoopTimes> loop;
    CallPaths calls;
    std::optional<process::StackTop> stack;  ///< where the thread stood when `calls` begin; none: not known
    std::vector<AllocatedBlocks> blocks;     ///< that there were then, of the calls that `accesses` name
};

/// Samples of one process: how often each address was met.
struct ProcessSamples {
    pid_t process = 0;
    std::vector<process::CodeMapping> code;  ///< by address: all that it had while it was looked at
    std::vector<std::uint64_t> numbers;      ///< of each: address, and what its samples weigh
};

/// Where processes were, by samples that were taken on this machine.
struct CodeSamples {
    record::PlaceSamples about;     ///< not_placed: not known yet
    double weight_of_a_sample = 1;  ///< they tell as much as so many times fewer that are alike
    std::vector<ProcessSamples> processes;
};

/// Which instructions the slots of a modelled workload are put down to, and why. The sum over all windows, weighted, is
/// that of the events.
struct SlotAttribution {
    unsigned slot_width = 0;      ///< slots of a cycle
    bool windows_differ = false;  ///< they are moments of a command; else repetitions of the same
    std::vector<std::vector<process::CodeMapping>> mappings;
    std::vector<AttributedWindow> windows;
    std::optional<CodeSamples> samples;            ///< of the same command, on this machine
    std::vector<AllocatingCall> allocating_calls;  ///< by number; none: allocations were not followed
};

}  // namespace tmaprobe::counters
