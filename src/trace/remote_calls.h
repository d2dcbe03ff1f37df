#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>

#include "trace/registers.h"

namespace tmaprobe::trace {

/// The status with which a traced thread stopped or ended, as wait gives it; nothing when there is no such thread any
/// more.
std::optional<int> wait_for_stop(pid_t thread);

/// Whether that status is of an end.
bool has_ended(const std::optional<int>& status);

/// Kills a traced task, if it is one, and waits for its end.
void kill_traced(pid_t task);

/// The event of a stop (PTRACE_EVENT_*); 0: none.
constexpr int event_of(int status) { return status >> 16; }

/// Options that call() needs: its stops are told from signals, and what clone made is traced and stopped.
extern const long options_for_calls;

/// Makes a stopped thread execute system calls at a system call instruction that it has mapped already: registers are
/// set, memory is not written. Until restore() the thread's registers are not its own.
class RemoteCalls {
  public:
    /// `own`: what restore() sets. `instruction`: where the system call instruction is.
    RemoteCalls(pid_t thread, const Registers& own, std::uint64_t instruction)
        : thread_(thread), own_(own), instruction_(instruction) {}

    /// How a call ended.
    struct Answer {
        std::optional<std::int64_t> value;  ///< what it returned; none: it was not executed
        pid_t created = 0;                  ///< a task that it made, as this process sees it
        int signal = 0;                     ///< a signal came first: the thread stands before its delivery
        bool gone = false;                  ///< the thread has ended
    };
    Answer call(long number, const std::array<std::uint64_t, 6>& arguments = {});

    /// False when the thread is gone.
    bool restore() const;

    const Registers& own() const { return own_; }

  private:
    pid_t thread_;
    Registers own_;
    std::uint64_t instruction_;
};

}  // namespace tmaprobe::trace
