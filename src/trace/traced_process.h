#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "trace/registers.h"

namespace tmaprobe::trace {

/// Why a thread stopped.
struct Stop {
    enum class Why { step, signal, event, exited } why = Why::step;
    int signal = 0;       ///< signal: to be delivered on resumption
    int exit_status = 0;  ///< exited: as a shell would give it
    bool sent = false;    ///< signal: by some process, not by what the thread did
    /// A signal that the thread's own instruction brought about.
    bool is_fault() const;
};

/// A process of our own under ptrace, all its threads and children with it. Killed, if it still runs, when
/// this goes away.
class TracedProcess {
  public:
    /// Forks; the child runs `body` and never returns from it. Stopped before `body` begins.
    /// Errors: no_permission when tracing is refused; system.
    static Result<TracedProcess> fork_function(const std::function<void()>& body);
    /// Starts a command, stopped after exec. Errors: unavailable when it cannot be started (with
    /// the reason); no_permission; system.
    static Result<TracedProcess> start_command(const std::vector<std::string>& command);

    /// A copy that take_snapshot() made: one thread, stopped, that was running then. Signals that would end it are not
    /// delivered: it is killed instead, and nothing comes of its death.
    static TracedProcess of_copy(pid_t copy);

    TracedProcess(TracedProcess&& other) noexcept;
    TracedProcess& operator=(TracedProcess&& other) noexcept;
    ~TracedProcess();

    pid_t pid() const { return pid_; }
    /// The thread that is stopped for tracing.
    pid_t thread() const { return thread_; }
    /// The process that it belongs to.
    pid_t process_of_thread() const;
    /// Which memory the stopped thread sees: differs between processes, and after an exec. What was put
    /// into one is not in another.
    std::pair<pid_t, std::size_t> address_space() const;

    /// Lets everything run for `milliseconds`; then the thread that used most processor time since is stopped. While
    /// none used this share of a CPU everything runs on, without a stop. False when the process ended instead
    /// (exit_status() says how).
    Result<bool> run_for(int milliseconds, double least_busy = 0);
    /// Lets everything run to its end.
    Result<> finish();
    /// Executes one instruction of the stopped thread, delivering `signal` first if not 0.
    Result<Stop> step(int signal = 0);
    /// Keeps a signal that a stop was for: the thread's next step delivers it.
    void keep_signal(int signal) { pending_signals_[thread_] = signal; }
    /// How often everything was let run.
    std::size_t native_runs() const { return native_runs_; }
    /// Resumes the stopped thread until its next stop of any kind.
    Result<Stop> resume(int signal = 0);

    /// Asked while waiting: a signal that was sent to us and is meant for the process, or 0. May wait for so
    /// long, and comes back early when a child stopped or ended.
    std::function<int(std::int64_t patience_ns)> signal_to_hand_on;
    /// Asked when a thread met an illegal instruction: true when it was executed for it (on `thread()`).
    std::function<bool(TracedProcess&)> on_illegal_instruction;

    Result<Registers> registers() const;
    Result<> set_registers(const Registers& registers) const;
    /// Reads as much as is mapped; the number of bytes read.
    std::size_t read(std::uint64_t address, void* to, std::size_t bytes) const;
    /// Writes even where the process itself may not. False when it is not mapped.
    bool write(std::uint64_t address, const void* from, std::size_t bytes) const;

    std::optional<int> exit_status() const { return exit_status_; }
    /// From a command's release to its end, stops included; 0 while it runs.
    std::uint64_t elapsed_ns() const { return ended_ns_ > released_ns_ ? ended_ns_ - released_ns_ : 0; }
    /// Time of single steps that took far longer than a stop and a nap of ours: system calls that waited or did their
    /// work, or a CPU that others had. The program's own, and not the tracer's.
    std::uint64_t own_ns() const { return own_ns_; }
    /// Time of steps that took longer than an instruction, and not so long: of either.
    std::uint64_t perhaps_own_ns() const { return perhaps_own_ns_; }
    /// Processor time so far of all tasks but the stopped one.
    std::uint64_t processor_ns_of_others() const;
    /// Processor time that the traced thread has used; 0 where the kernel does not tell.
    std::uint64_t processor_ns() const;
    /// Stops of tasks that ran untraced: at forks, execs and signals.
    std::size_t stops() const { return stops_; }
    /// Threads and child processes seen so far besides the first.
    std::size_t further_tasks() const { return further_tasks_; }

  private:
    TracedProcess() = default;
    /// A child of ours under our eyes, or ended: `ours` as the member says.
    static Result<TracedProcess> seized(pid_t child, bool ours);
    Result<> seize(pid_t pid, bool kill_with_us);
    Result<> stop(pid_t task);
    Result<Stop> wait_for_thread();
    /// And waits so long, or until something happens.
    void hand_signal_on(long microseconds) const;
    /// Lets all but one task (0: all) go on from where they stopped. False when none had stopped.
    bool serve_all_but(pid_t excepted);
    Result<Stop> classify(pid_t task, int status);
    void handle_while_running(pid_t task, int status);
    void add_task(pid_t task);
    void note_end(pid_t task, int status);
    void resume_all();
    /// Of a copy, instead of a signal that would end it.
    std::optional<Stop> end_instead_of(int signal);
    void let_go();

    pid_t pid_ = -1, thread_ = -1;
    std::set<pid_t> tasks_;    ///< alive, traced by us
    std::set<pid_t> running_;  ///< of these, not stopped
    std::size_t further_tasks_ = 0;
    std::map<pid_t, pid_t> processes_;    ///< of the further tasks
    std::map<pid_t, std::size_t> execs_;  ///< by process
    std::optional<int> exit_status_;
    std::uint64_t released_ns_ = 0, ended_ns_ = 0, own_ns_ = 0, perhaps_own_ns_ = 0;
    std::size_t stops_ = 0, native_runs_ = 0;
    mutable Fd written_;  ///< its memory, open for writing
    mutable pid_t written_thread_ = -1;
    bool ours_ = true;  ///< a forked function: killed with us; a command is let go
    bool is_copy_ = false;
    std::map<pid_t, int> pending_signals_;  ///< met while a task was being stopped
};

/// Whether this process may trace its own children, which modelling needs. Errors: no_permission with the
/// remedy, or system when no child can be had.
Result<> check_tracing();

}  // namespace tmaprobe::trace
