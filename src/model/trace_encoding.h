#pragma once

// What the bytes of a trace's blocks mean (docs/what-if.md). A step is what its instruction's habits foretell, and
// costs a bit of a byte then, or differs, and costs the difference.

#include <cstdint>
#include <string_view>
#include <vector>

namespace tmaprobe::model {

inline constexpr std::string_view trace_magic = "tmaprobe.trace/2\n";
/// The same without mappings.
inline constexpr std::string_view trace_magic_1 = "tmaprobe.trace/1\n";

/// What a mapping is, as a byte of the last block: the sum of these.
enum MappingFlag : std::uint8_t { is_writable = 1, is_executable = 2, is_shared = 4, is_of_file = 8, is_deleted = 16 };

/// The first byte of each entry. Below `repeats`, a step: the sum of what of it was not foretold.
enum TraceEntry : std::uint8_t {
    other_instruction = 1,  ///< its number follows
    other_load = 2,         ///< the address follows
    other_store = 4,
    definition = 16,  ///< of the next instruction: address, length, bytes
    told_page = 17,   ///< extent of 2 MiB, and log2 of the page's bytes
    forget_pages = 18,
    begin_moment = 19,  ///< bytes in memory
    begin_window = 20,  ///< number of the steps that follow and are in it
    enter_region = 21,  ///< steps of windows from here on are in the region that is asked about; none is at first
    leave_region = 22,
    repeats = 128,  ///< the rest of the byte: so many steps were as foretold
};
inline constexpr std::uint64_t most_repeats = 127;

/// What one instruction did when it was executed last, from which the next time is foretold.
struct Habit {
    std::uint32_t next = 0;  ///< which instruction followed
    std::uint64_t load = 0, load_stride = 0, store = 0, store_stride = 0;

    std::uint64_t next_load() const { return load ? load + load_stride : 0; }
    std::uint64_t next_store() const { return store ? store + store_stride : 0; }
    void learn(std::uint64_t new_load, std::uint64_t new_store) {
        load_stride = load && new_load ? new_load - load : 0;
        store_stride = store && new_store ? new_store - store : 0;
        load = new_load;
        store = new_store;
    }
};

/// Small numbers of either sign to small numbers.
inline std::uint64_t folded(std::uint64_t difference) {
    return (difference << 1) ^ (difference >> 63 ? ~std::uint64_t{0} : 0);
}
inline std::uint64_t unfolded(std::uint64_t number) { return (number >> 1) ^ (number & 1 ? ~std::uint64_t{0} : 0); }

/// Seven bits in each byte, the lowest first; the highest bit says that more follow.
inline void put_number(std::vector<std::uint8_t>& bytes, std::uint64_t number) {
    for (; number >= 128; number >>= 7) bytes.push_back(static_cast<std::uint8_t>(number | 128));
    bytes.push_back(static_cast<std::uint8_t>(number));
}

}  // namespace tmaprobe::model
