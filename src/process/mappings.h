#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tmaprobe::process {

/// A stretch of executable memory of a process.
struct CodeMapping {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t offset = 0;  ///< in the file, of `begin`
    std::uint64_t inode = 0;   ///< 0: of no file
    std::string path;          ///< of the file, "[vdso]", or empty: memory that a program wrote its code to
    bool deleted = false;      ///< the file was taken away or replaced since it was mapped

    bool operator==(const CodeMapping&) const = default;
};

/// A stretch of memory of a process, of whatever kind: its path may be "[heap]", "[stack]", "[anon:...]".
struct MemoryMapping : CodeMapping {
    bool writable = false, executable = false, shared = false;

    bool operator==(const MemoryMapping&) const = default;
};

/// Of a process as it is now, by address; none when it cannot be read.
std::vector<MemoryMapping> memory_mappings_of(pid_t process);

/// Those that are executable.
std::vector<CodeMapping> code_mappings_of(pid_t process);
std::vector<CodeMapping> code_of(const std::vector<MemoryMapping>& mappings);

/// Of the text of /proc/PID/maps; lines that are none of it are left out.
std::vector<MemoryMapping> parse_mappings(const std::string& maps);

/// The one that an address is in, of mappings by address; null: none.
template <class Mapping>
const Mapping* mapping_at(const std::vector<Mapping>& mappings, std::uint64_t address) {
    std::size_t low = 0, high = mappings.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (address < mappings[middle].begin)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && address < mappings[low - 1].end ? &mappings[low - 1] : nullptr;
}

}  // namespace tmaprobe::process
