#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/remote_calls.h"
#include "trace/snapshot.h"
#include "trace/touched_memory.h"

namespace tmaprobe::trace {

/// Memory that a process shares with others.
struct SharedMapping {
    std::uint64_t begin = 0, end = 0, offset = 0;
    unsigned long long inode = 0;
    int protection = 0;  ///< PROT_*
    std::string path;

    std::uint64_t bytes() const { return end - begin; }
};

/// A line of /proc/PID/maps that is one; nothing: it is another line. Those of smaps begin with the same ones.
std::optional<SharedMapping> shared_mapping(const std::string& line);

/// Files that a process writes through its memory. As long as a copy has one of these mapped, too, nobody can execute
/// it: a program that a linker has just written would be refused (ETXTBSY). `maps`: what /proc/PID/maps says.
std::vector<SharedMapping> written_files(const std::string& maps);

/// Replaces what a stopped copy shares with others and may write by private memory of the same contents; of memory that
/// is large and that the copy may not open, by what the original has touched. `why` says what could not be replaced.
/// `left_out`: what the copy has not mapped any more, and gets back; nothing else lies there.
bool make_mappings_private(pid_t copy, const std::vector<SharedMapping>& left_out, TouchedMemory& touched,
                           RemoteCalls& calls, std::string& why);

}  // namespace tmaprobe::trace
