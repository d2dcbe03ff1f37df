#pragma once

#include <cstdint>

// What a system call is about, by its number: enough to decide what a copy may do.
namespace tmaprobe::trace {

/// What is asked often, and of the copy alone.
bool touches_only_itself(long number);
/// What would have gone well, and whose effect the copy can do without.
bool goes_well(long number);
bool starts_or_waits_for_processes(long number);
bool waits(long number);
bool receives(long number);
bool sends_signals(long number);
bool changes_files(long number);
/// Whether such a prctl() changes nothing that anybody else goes by.
bool is_of_itself(std::uint64_t operation);
/// What a copy may be advised of its memory (madvise); other advice reaches the file behind a mapping.
bool is_harmless_advice(std::uint64_t advice);

}  // namespace tmaprobe::trace
