#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/heap_blocks.h"
#include "trace/stacked_calls.h"
#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// What a function of an allocator takes and gives back, by its arguments. Named are those that say so.
enum class AllocatorCall : std::uint8_t {
    none,
    bytes,            ///< malloc(bytes)
    count_and_bytes,  ///< calloc(count, bytes)
    again_bytes,      ///< realloc(block, bytes)
    again_count,      ///< reallocarray(block, count, bytes)
    alignment_bytes,  ///< aligned_alloc(alignment, bytes), mmap(address, bytes, ...)
    stored,           ///< posix_memalign(where it is stored, alignment, bytes)
    release,          ///< free(block)
};

/// None where a function of this name is no allocator's, as far as is known: of the C library and C++, of Python, and
/// of allocators that are used by names of their own.
AllocatorCall allocator_call(std::string_view linker_name);

/// Such a function, where it lies in its file.
struct AllocatorFunction {
    std::uint64_t offset = 0;
    AllocatorCall call = AllocatorCall::none;
};

/// Knows which calls allocated what lies where, of a program that is followed from its first instruction on: who
/// executes its code tells of calls, of returns, and of entries of the allocator's functions.
class AllocationWatch {
  public:
    /// Which functions of an allocator a file has.
    using FunctionsOf = std::function<std::vector<AllocatorFunction>(const std::string& file)>;
    using Arguments = std::array<std::uint64_t, 3>;
    AllocationWatch(const TracedProcess& process, FunctionsOf functions_of);

    /// What is mapped where may have changed.
    void mappings_changed() { looked_ = false; }
    /// Another program has begun.
    void begin_anew();

    /// Which function of an allocator begins there.
    AllocatorCall begins_at(std::uint64_t address);
    /// It was called; the address that it returns to lies at `slot`.
    void entered(AllocatorCall call, std::uint64_t slot, const Arguments& arguments);
    void called(std::uint64_t slot, std::uint64_t site) {
        if (slot >= pending_.slot) pending_ = {};
        calls_.call(slot, site);
    }
    /// With this value.
    void returned(std::uint64_t slot, std::uint64_t value) {
        if (pending_.call != AllocatorCall::none) note_return(slot, value);
        calls_.returned(slot);
    }

    HeapBlocks& blocks() { return blocks_; }
    const HeapBlocks& blocks() const { return blocks_; }
    /// Owners of blocks are numbers of these.
    const std::vector<StackedCalls::Call>& paths() const { return calls_.paths(); }
    /// How many blocks were allocated so far.
    std::uint64_t allocations() const { return allocations_; }

  private:
    static constexpr std::uint64_t no_slot = ~std::uint64_t{0};
    /// A call of the allocator that has not returned; those that it makes itself are not looked at.
    struct Pending {
        AllocatorCall call = AllocatorCall::none;
        std::uint64_t slot = no_slot;
        Arguments arguments{};
        std::uint32_t path = 0;
        std::uint64_t value_within = 0;  ///< what the last call that it made returned
    };

    void look();
    void note_return(std::uint64_t slot, std::uint64_t value);
    void finish(std::uint64_t value);

    const TracedProcess& process_;
    FunctionsOf functions_of_;
    std::map<std::string, std::vector<AllocatorFunction>> of_files_;
    std::unordered_map<std::uint64_t, AllocatorCall> begins_;
    bool looked_ = false;
    StackedCalls calls_;
    HeapBlocks blocks_;
    Pending pending_;
    std::uint64_t allocations_ = 0;
};

}  // namespace tmaprobe::trace
