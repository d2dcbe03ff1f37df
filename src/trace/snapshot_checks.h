#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/snapshot.h"
#include "trace/waiting_input.h"

namespace tmaprobe::trace {

/// What is known of a thread before it is stopped.
struct Candidate {
    std::optional<Missed> missed;  ///< it is better left alone
    std::string why;
    std::string program;
    Identity identity;
    std::uint64_t instruction = 0;  ///< a system call instruction that it has mapped
    std::uint64_t resident_bytes = 0;
    pid_t parent = 0;  ///< as we see it
    InputDescriptors input;
    std::vector<int> descriptors;  ///< in use
    bool alone = false;            ///< the only thread of its process
};

/// Looks at a thread from outside, without disturbing it.
Candidate examine(pid_t process, pid_t thread);
/// The same of a thread that we have stopped ourselves.
Candidate examine_own(pid_t process, pid_t thread);

/// Whether a process that others started may be sampled at all. Errors: unavailable when there is none, it has ended
/// or is the kernel's; no_permission.
Result<> check_can_be_sampled(pid_t process);

/// As we see it; 0: it is gone.
pid_t parent_of(pid_t process);

/// Whether a signal that the thread does not block waits for it.
bool has_pending_signal(pid_t process, pid_t thread);

/// What the first descriptors are, and where they stand: to be asked while the process is stopped.
std::vector<OpenFile> open_files(pid_t process);
/// The paths of those that are regular files, for which the program need not wait.
void find_paths(pid_t process, std::vector<OpenFile>& files);

}  // namespace tmaprobe::trace
