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

/// Of a process as it is now, by address; none when it cannot be read.
std::vector<CodeMapping> code_mappings_of(pid_t process);

/// Of the text of /proc/PID/maps; lines that are none of it are left out.
std::vector<CodeMapping> parse_code_mappings(const std::string& maps);

}  // namespace tmaprobe::process
