#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "base/fd.h"
#include "base/result.h"
#include "trace/registers.h"

namespace tmaprobe::trace {

/// Why a thread stopped.
struct Stop {
    enum class Why {
        step,
        signal,
        event,
        exited,
        call,  ///< of run_to_call(): behind a system call instruction, which did nothing
    } why = Why::step;
    int signal = 0;       ///< signal: to be delivered on resumption
    int exit_status = 0;  ///< exited: as a shell would give it
    bool sent = false;    ///< signal: by some process, not by what the thread did
    /// A signal that the thread's own instruction brought about.
    bool is_fault() const;
};

/// A process of our own under ptrace, of which one thread is followed: a kernel, or a copy of the user's. Killed when
/// this goes away.
class TracedProcess {
  public:
    /// Forks; the child runs `body` and never returns from it. Stopped before `body` begins, and again by an exec.
    /// Errors: no_permission when tracing is refused; system.
    static Result<TracedProcess> fork_function(const std::function<void()>& body);
    /// A copy that take_snapshot() made, stopped, that was running then. Signals that would end it are not delivered:
    /// it is killed instead, and nothing comes of its death.
    static TracedProcess of_copy(pid_t copy);

    TracedProcess(TracedProcess&& other) noexcept;
    TracedProcess& operator=(TracedProcess&& other) noexcept;
    ~TracedProcess();

    pid_t pid() const { return pid_; }
    /// Whether it has started threads, which run as they like.
    bool has_further_threads() const;

    /// Lets it run for `milliseconds`, and stops it. False when it ended instead (exit_status() says how).
    Result<bool> run_for(int milliseconds);
    /// Lets it run to its end.
    Result<> finish();
    /// How often it was let run.
    std::size_t native_runs() const { return native_runs_; }
    /// Executes one instruction, delivering `signal` first if not 0.
    Result<Stop> step(int signal = 0);
    /// Keeps a signal that a stop was for: the next step delivers it.
    void keep_signal(int signal) { pending_signal_ = signal; }
    /// Resumes it until its next stop of any kind.
    Result<Stop> resume(int signal = 0);
    /// Of a copy: the same, and no system call is carried out. Nothing when it was stopped because `left_ns`, which is
    /// asked again and again, had come to 0. Errors: unavailable where the kernel cannot do that; system.
    Result<std::optional<Stop>> run_to_call(int signal, const std::function<std::int64_t()>& left_ns);
    /// Processor time that it has used.
    double processor_ns() const;

    /// Asked when it met an illegal instruction while it ran: true when that was executed for it.
    std::function<bool(TracedProcess&)> on_illegal_instruction;

    Result<Registers> registers() const;
    Result<> set_registers(const Registers& registers) const;
    /// Reads as much as is mapped; the number of bytes read.
    std::size_t read(std::uint64_t address, void* to, std::size_t bytes) const;
    /// Writes even where the process itself may not. False when it is not mapped.
    bool write(std::uint64_t address, const void* from, std::size_t bytes) const;

    std::optional<int> exit_status() const { return exit_status_; }

  private:
    TracedProcess() = default;
    Result<> seize();
    Result<Stop> interrupt();
    Result<Stop> wait();
    Stop classify(int status);
    /// Lets it go on after a stop that it met while it ran.
    Result<> go_on_after(const Stop& stop);
    /// Of a copy, instead of a signal that would end it.
    std::optional<Stop> end_instead_of(int signal);
    int take_pending_signal();
    void kill();

    pid_t pid_ = -1;
    std::optional<int> exit_status_;
    std::size_t native_runs_ = 0;
    mutable Fd memory_;  ///< its memory, open for writing
    bool is_copy_ = false;
    int pending_signal_ = 0;  ///< met while it was being stopped
};

/// Whether this process may trace its own children, which modelling needs. Errors: no_permission with the
/// remedy, or system when no child can be had.
Result<> check_tracing();

}  // namespace tmaprobe::trace
