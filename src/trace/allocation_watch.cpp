#include "trace/allocation_watch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "process/mappings.h"

namespace tmaprobe::trace {
namespace {

struct Named {
    std::string_view name;
    AllocatorCall call;
};

using enum AllocatorCall;

/// C's names; allocators that stand beside the C library's have them behind "je_", "mi_", "tc_" or "rte_" and the like.
constexpr std::array c_functions{Named{"malloc", bytes},
                                 Named{"calloc", count_and_bytes},
                                 Named{"realloc", again_bytes},
                                 Named{"reallocarray", again_count},
                                 Named{"aligned_alloc", alignment_bytes},
                                 Named{"memalign", alignment_bytes},
                                 Named{"posix_memalign", stored},
                                 Named{"valloc", bytes},
                                 Named{"pvalloc", bytes},
                                 Named{"free", release},
                                 Named{"cfree", release}};

constexpr std::array further_functions{
    Named{"mmap", alignment_bytes}, Named{"mmap64", alignment_bytes}, Named{"munmap", release},
    // C++: operator new(size_t), new[]; what follows in the name are an alignment or nothrow.
    Named{"_Znwm", bytes}, Named{"_Znam", bytes}, Named{"_ZnwmRKSt9nothrow_t", bytes},
    Named{"_ZnamRKSt9nothrow_t", bytes}, Named{"_ZnwmSt11align_val_t", bytes}, Named{"_ZnamSt11align_val_t", bytes},
    Named{"_ZnwmSt11align_val_tRKSt9nothrow_t", bytes}, Named{"_ZnamSt11align_val_tRKSt9nothrow_t", bytes},
    // operator delete, delete[], also with a size or an alignment.
    Named{"_ZdlPv", release}, Named{"_ZdaPv", release}, Named{"_ZdlPvm", release}, Named{"_ZdaPvm", release},
    Named{"_ZdlPvSt11align_val_t", release}, Named{"_ZdaPvSt11align_val_t", release},
    Named{"_ZdlPvmSt11align_val_t", release}, Named{"_ZdaPvmSt11align_val_t", release},
    Named{"_ZdlPvRKSt9nothrow_t", release}, Named{"_ZdaPvRKSt9nothrow_t", release},
    // Python has pools of its own.
    Named{"PyObject_Malloc", bytes}, Named{"PyObject_Calloc", count_and_bytes}, Named{"PyObject_Realloc", again_bytes},
    Named{"PyObject_Free", release}, Named{"PyMem_Malloc", bytes}, Named{"PyMem_Calloc", count_and_bytes},
    Named{"PyMem_Realloc", again_bytes}, Named{"PyMem_Free", release}};

constexpr std::array prefixes{std::string_view("je_"), std::string_view("mi_"), std::string_view("tc_"),
                              std::string_view("rp")};

template <class Functions>
AllocatorCall find(const Functions& functions, std::string_view name) {
    const auto found = std::ranges::find(functions, name, &Named::name);
    return found == functions.end() ? none : found->call;
}

/// Addresses within a page of the end are negative error numbers.
bool is_error(std::uint64_t value) {
    constexpr std::uint64_t page = 4096;
    return value == 0 || value > ~page;
}

}  // namespace

AllocatorCall allocator_call(std::string_view linker_name) {
    if (const AllocatorCall call = find(c_functions, linker_name); call != none) return call;
    for (const std::string_view prefix : prefixes)
        if (linker_name.starts_with(prefix))
            if (const AllocatorCall call = find(c_functions, linker_name.substr(prefix.size())); call != none)
                return call;
    return find(further_functions, linker_name);
}

AllocationWatch::AllocationWatch(const TracedProcess& process, FunctionsOf functions_of)
    : process_(process), functions_of_(std::move(functions_of)) {}

void AllocationWatch::begin_anew() {
    looked_ = false;
    calls_.clear();
    blocks_.clear();
    pending_ = {};
}

void AllocationWatch::look() {
    looked_ = true;
    begins_.clear();
    for (const auto& mapping : process::code_mappings_of(process_.pid())) {
        if (!mapping.inode || mapping.deleted) continue;
        const auto [of_file, is_new] = of_files_.try_emplace(mapping.path);
        if (is_new) of_file->second = functions_of_(mapping.path);
        for (const AllocatorFunction& function : of_file->second)
            if (function.offset >= mapping.offset && function.offset - mapping.offset < mapping.end - mapping.begin)
                begins_[mapping.begin + (function.offset - mapping.offset)] = function.call;
    }
}

AllocatorCall AllocationWatch::begins_at(std::uint64_t address) {
    if (!looked_) look();
    const auto found = begins_.find(address);
    return found == begins_.end() ? none : found->second;
}

void AllocationWatch::entered(AllocatorCall call, std::uint64_t slot, const Arguments& arguments) {
    // operator new calls malloc, and malloc mmap: the outermost is what the program asked for.
    if (pending_.call != none && slot <= pending_.slot) return;
    pending_ = {call, slot, arguments, 0, 0};
    // What it releases may be another's before it returns.
    if (call == release) blocks_.remove(arguments[0]);
    if (call != release) pending_.path = calls_.path();
}

void AllocationWatch::note_return(std::uint64_t slot, std::uint64_t value) {
    if (slot < pending_.slot) {
        pending_.value_within = value;
        return;
    }
    const bool is_its_own = slot == pending_.slot;
    if (is_its_own) finish(value);
    pending_ = {};
}

void AllocationWatch::finish(std::uint64_t value) {
    const auto& [first, second, third] = pending_.arguments;
    std::uint64_t size = 0;
    switch (pending_.call) {
        case none:
        case release:
            return;
        case bytes:
            size = first;
            break;
        case count_and_bytes:
            size = first * second;
            break;
        case alignment_bytes:
            size = second;
            break;
        case again_bytes:
        case again_count:
            size = pending_.call == again_bytes ? second : second * third;
            if (is_error(value) && size) return;  // the block is as it was
            if (first) blocks_.remove(first);
            break;
        case stored: {
            size = third;
            std::uint64_t there = 0;
            // The program has gone on since: what is there now must be what came from within.
            if (value != 0 || process_.read(first, &there, sizeof there) != sizeof there) return;
            if (there != pending_.value_within) return;
            value = there;
            break;
        }
    }
    if (is_error(value)) return;
    ++allocations_;
    blocks_.add(value, size, pending_.path);
}

}  // namespace tmaprobe::trace
