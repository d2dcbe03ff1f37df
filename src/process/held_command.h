#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "process/held_child.h"

namespace tmaprobe::process {

/// Monotonic time in ns, not adjusted by NTP.
std::uint64_t now_ns();

/// The user's command as a child process that waits to be released, so that its counters can be opened
/// before its first instruction and it inherits none of our descriptors. It keeps our stdin, stdout,
/// stderr, process group and signal dispositions. Killed and reaped if dropped early.
class HeldCommand {
  public:
    /// Errors: bad_usage for an empty argv, system when fork fails.
    static Result<HeldCommand> start(const std::vector<std::string>& argv);
    HeldCommand(HeldCommand&& other) noexcept;
    HeldCommand& operator=(HeldCommand&&) = delete;
    ~HeldCommand();

    pid_t pid() const { return pid_; }
    /// Readable once it has ended; -1 where the kernel has no such descriptors (before 5.3).
    int end() const { return end_.get(); }
    /// Lets it run. Errors: unavailable when the program cannot be executed (with the reason).
    Result<> release();
    /// Status as a shell gives it (128 + signal) if it has ended.
    std::optional<int> poll_exit();
    /// Of the ended command and of those that it waited for; processor time in ns.
    double processor_ns() const { return processor_ns_; }
    std::uint64_t page_faults() const { return page_faults_; }
    std::uint64_t context_switches() const { return context_switches_; }

  private:
    HeldCommand() = default;
    double processor_ns_ = 0;
    std::uint64_t page_faults_ = 0, context_switches_ = 0;
    std::string program_;
    pid_t pid_ = -1;
    HeldChild child_;
    Fd end_;
    Fd failure_;  ///< the child's errno when exec fails; end of file when it succeeds
};

/// Reaps what has ended among our children except these two: copies of a command.
void reap_others(pid_t command, pid_t helper);

/// The error of a program that exec refused with this errno.
tl::unexpected<Error> cannot_start(const std::string& program, int reason);

/// While it lives, the calling thread's SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGCHLD arrive here instead
/// of ending us, so that what was counted can still be told. Restores everything when it ends.
class SignalWatch {
  public:
    SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;
    ~SignalWatch();

    /// What a wait came back for.
    struct Wake {
        bool interrupted = false;  ///< one of the ending signals arrived
        int signal = 0;
        bool readable = false;       ///< the descriptor is
        bool watched = false;        ///< the other descriptor is
        bool from_terminal = false;  ///< the whole foreground group got it, so the child has it too
    };
    /// Waits for a signal, for `readable` or `watched` (descriptors, or -1) or until the time is over (negative:
    /// forever).
    Wake wait(std::int64_t timeout_ns, int readable = -1, int watched = -1);

  private:
    Wake wait_without_descriptor(std::int64_t timeout_ns) const;
    sigset_t watched_{}, saved_mask_{};
    struct sigaction saved_child_{};
    Fd signals_;
};

/// How a command ended.
struct CommandOutcome {
    int status = 0;            ///< as a shell gives it: 128 + signal
    bool interrupted = false;  ///< by a signal to us, which was handed on
};

/// What a command gets of the signals that reach us: those that it did not get itself (sent to us alone, or it
/// has left our process group). One that ignores the first may have reasons; after a second it is asked to end
/// (SIGTERM), and half a second later it is given up.
class Handover {
  public:
    /// The signal to send to the command now; 0: none.
    int answer(const SignalWatch::Wake& wake, pid_t command);
    /// Of the last signal that arrived; 0: none has.
    int signal() const { return signal_; }
    bool gives_up_at(std::uint64_t now) const { return give_up_at_ != 0 && now >= give_up_at_; }
    /// How long a wait may take before gives_up_at() may become true; negative: for ever.
    std::int64_t patience_ns() const;

  private:
    int signal_ = 0;
    std::uint64_t give_up_at_ = 0;
};

/// Something to do at regular times while waiting.
struct Ticks {
    std::uint64_t every_ns = 0;          ///< 0: never
    std::function<bool()> on_tick;       ///< false: no more
    std::uint64_t until_ns = 0;          ///< then the wait is over, of what is not our child; 0: no such time
    std::uint64_t once_at_ns = 0;        ///< after which time once() is called
    std::function<void()> once{};        ///< empty: nothing to do but once
    int watched = -1;                    ///< a descriptor; -1: none
    std::function<bool()> on_watched{};  ///< called when it is readable; false: it is not looked at any more
};

/// Waits until the command has ended, or is given up: dropping it then kills it. Signals are handed over.
CommandOutcome wait_for(HeldCommand& command, SignalWatch& signals, const Ticks& ticks);

/// Waits until all of these, processes or threads that are not our children, have ended or the time is over (false),
/// or one of the ending signals arrives (true).
bool wait_for_processes(const std::vector<pid_t>& processes, SignalWatch& signals, const Ticks& ticks);

/// Waits until one of the ending signals arrives, or the time is over.
void wait_for_signal(SignalWatch& signals, const Ticks& ticks);

}  // namespace tmaprobe::process
