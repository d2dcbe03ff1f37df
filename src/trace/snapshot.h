#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/registers.h"
#include "trace/unfinished_call.h"
#include "trace/waiting_input.h"

namespace tmaprobe::trace {

/// Why no copy of a thread was made at a moment.
enum class Missed {
    gone,             ///< it ended
    waiting,          ///< it waited in a system call, or was not running
    in_kernel,        ///< it was in a system call when it stopped
    stopped,          ///< by a signal (job control)
    traced,           ///< by another: a debugger inside the command
    critical,         ///< it was in a restartable sequence, which must see that it was interrupted
    signalled,        ///< a signal came at this moment, and was let through
    refused,          ///< the kernel does not let us trace it
    other_namespace,  ///< of processes: a copy's end would be told to its first process
    adopted,          ///< the copy fell to a process of the program, which reaps orphans; it was killed at once
    other_code,       ///< of 32 bits, or single-stepping itself
    sandboxed,        ///< by a seccomp filter that we do not have ourselves
    no_memory,
    no_processes,      ///< a limit on processes is near
    shared_memory,     ///< memory that it shares with others and that cannot be made private
    special_files,     ///< it holds what a copy would disturb (userfaultfd)
    waits_for_clones,  ///< another of its threads waits for children of every kind (a debugger does)
    old_kernel,
    failed,
};

/// As records name it.
std::string_view name_of(Missed missed);

/// As the process itself sees its numbers, which a copy has to be told.
struct Identity {
    pid_t thread = 0, process = 0, parent = 0, group = 0, session = 0;
};

/// What was open, and where it stood.
struct OpenFile {
    int descriptor = -1;
    struct stat status{};
    std::int64_t offset = 0;
    unsigned flags = 0;  ///< O_RDONLY, O_APPEND and so on
    std::string path{};  ///< where it is found when the original has ended; empty: not known
};

/// A copy of a process with one of its threads, stopped under our ptrace where that thread was. Killed when this goes
/// away, and with us. It has no descriptors, no controlling terminal, writes no core file, and shares no memory that it
/// could write.
class Snapshot {
  public:
    Snapshot() = default;
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    Snapshot(Snapshot&& other) noexcept;
    Snapshot& operator=(Snapshot&& other) noexcept;
    ~Snapshot();

    pid_t copy() const { return copy_; }
    /// Whoever has it now kills it.
    pid_t release();
    /// What is known of it stays.
    void kill();

    pid_t process = 0, thread = 0;  ///< the original, as we see it
    std::string program;            ///< its name
    Identity identity;
    std::vector<OpenFile> files;   ///< of the first descriptors
    std::vector<int> descriptors;  ///< all that were in use
    WaitingInput input;
    std::uint64_t instruction = 0;  ///< a system call instruction
    /// The time stamp counter when the copy's clocks were stopped; none: it has the machine's.
    std::optional<std::uint64_t> time_stamp;
    std::uint64_t resident_bytes = 0;
    std::uint64_t faults_before = 0;  ///< minor page faults of the original until then

  private:
    friend struct SnapshotTaker;
    pid_t copy_ = -1;
};

/// What came of an attempt.
struct SnapshotAttempt {
    std::optional<Snapshot> snapshot;
    Missed missed = Missed::failed;  ///< without a snapshot
    std::string why;                 ///< in words, where there is more to say
    std::uint64_t pause_ns = 0;      ///< for which the original was stopped
};

/// Threads of which we are the tracer still: those that were ending when we came, of which nobody else is told before
/// we have waited for them; those that had not stopped when we gave up, which are let go as soon as they do; and those
/// that do the rest of a system call.
class EndingThreads {
  public:
    EndingThreads() = default;
    EndingThreads(const EndingThreads&) = delete;
    EndingThreads& operator=(const EndingThreads&) = delete;
    /// Ends the rest of system calls, as a signal would.
    ~EndingThreads();

    void add(pid_t thread, pid_t process);
    /// From now on, and until settle() finds nothing that would be left half done, SIGTERM does not end us.
    void hold_the_end();
    /// Lets the thread, which stands, do the rest of its call. The end is held.
    void add(pid_t thread, pid_t process, UnfinishedCall call);
    /// Looks for what has come of them. To be called often while there are any.
    void settle();
    bool empty() const { return threads_.empty(); }

  private:
    struct Thread {
        pid_t thread, process;
        std::optional<UnfinishedCall> call;
    };
    /// Whether nothing is to be done about it any more.
    static bool is_settled(Thread& thread);
    static bool goes_on_with_its_call(Thread& thread);
    bool has_calls() const;
    void cut_short();

    std::vector<Thread> threads_;
    bool holds_the_end_ = false;
};

/// Stops a running thread for a moment, lets it make a copy of its process, and lets it go again. Nothing of the
/// original is written but the registers of that moment, which are set back. `reaper`: a process whose children may get
/// a copy as a sibling, which it reaps; 0: none. `after_call`: a thread that comes out of a system call at this moment
/// is copied there, too.
SnapshotAttempt take_snapshot(pid_t process, pid_t thread, EndingThreads& ending, pid_t reaper = 0,
                              bool after_call = false);

/// The thread stands at the end of its exec, traced by us (PTRACE_EVENT_EXEC): a copy at its first instruction.
/// Detaches.
SnapshotAttempt take_snapshot_after_exec(pid_t process, EndingThreads& ending, pid_t reaper = 0);

/// Minor page faults of a process so far; 0 when it is gone.
std::uint64_t minor_faults(pid_t process);

}  // namespace tmaprobe::trace
