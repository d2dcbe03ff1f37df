// How traced processes begin: forked functions and commands, held until they are traced.
#include "trace/traced_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fd.h"
#include "base/file.h"
#include "process/held_command.h"

namespace tmaprobe::trace {
namespace {

constexpr const char* permission_hint =
    "tracing own children needs ptrace: see /proc/sys/kernel/yama/ptrace_scope (2 asks for CAP_SYS_PTRACE, 3 forbids "
    "it) and, in a container, "
    "--cap-add=SYS_PTRACE or a seccomp profile that allows ptrace";

constexpr int shell_not_found = 127, shell_not_executable = 126;

struct Pipe {
    Fd read_end, write_end;
    static Result<Pipe> make() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
        return Pipe{Fd(ends[0]), Fd(ends[1])};
    }
};

Result<> not_traceable(int error_number) {
    return fail(error_number == EPERM ? ErrorCode::no_permission : ErrorCode::system,
                std::string("this process may not trace its child: ") + std::strerror(error_number), permission_hint);
}

/// Blocks in the child until the parent holds it.
void wait_for_parent(const Fd& gate) {
    char byte = 0;
    while (::read(gate.get(), &byte, 1) < 0 && errno == EINTR) {
    }
}

}  // namespace

Result<TracedProcess> TracedProcess::fork_function(const std::function<void()>& body) {
    auto gate = TRY(Pipe::make());
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return fail_errno(errno, "cannot fork");
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        gate.write_end.close();
        wait_for_parent(gate.read_end);
        body();
        ::_exit(0);
    }
    auto process = seized(child, true);
    if (!process) return process;
    gate.write_end.close();
    return process;
}

Result<> check_tracing() {
    // The same permission as to seize a child, without a copy of this process's memory: every command pays for it.
    volatile int refused = 0;
    const pid_t child = ::vfork();
    if (child < 0) return fail_errno(errno, "cannot fork");
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) refused = errno;
        ::_exit(0);
    }
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return refused ? not_traceable(refused) : Result<>{};
}

Result<TracedProcess> TracedProcess::start_command(const std::vector<std::string>& command) {
    auto gate = Pipe::make();
    auto report = Pipe::make();
    if (!gate || !report) return pass_on(gate ? report : gate);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return fail_errno(errno, "cannot fork");
    if (child == 0) {
        gate->write_end.close();
        wait_for_parent(gate->read_end);
        ::execvp(arguments[0], arguments.data());
        const int error_number = errno;
        const ssize_t told = ::write(report->write_end.get(), &error_number, sizeof error_number);
        ::_exit(told > 0 && error_number == ENOENT ? shell_not_found : shell_not_executable);
    }
    report->write_end.close();
    auto process = seized(child, false);
    if (!process) return process;
    process->released_ns_ = process::now_ns();
    gate->write_end.close();
    // To the exec, which stops it again; or to its end when there is nothing to execute.
    for (;;) {
        auto stopped = TRY(process->resume());
        if (stopped.why == Stop::Why::event) return std::move(*process);
        if (stopped.why == Stop::Why::exited) break;
    }
    int error_number = 0;
    const bool said = ::read(report->read_end.get(), &error_number, sizeof error_number) == sizeof error_number;
    if (said) return process::cannot_start(command.front(), error_number);
    return fail(ErrorCode::unavailable, "cannot start '" + command.front() + "': it ended at once");
}

TracedProcess TracedProcess::of_copy(pid_t copy) {
    TracedProcess process;
    process.is_copy_ = true;
    process.pid_ = process.thread_ = copy;
    process.tasks_.insert(copy);
    ::ptrace(PTRACE_SETOPTIONS, copy, nullptr, PTRACE_O_EXITKILL);
    return process;
}

Result<TracedProcess> TracedProcess::seized(pid_t child, bool ours) {
    TracedProcess process;
    process.ours_ = ours;
    process.pid_ = process.thread_ = child;
    if (auto taken = process.seize(child, ours); !taken) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        process.pid_ = -1;
        return pass_on(taken);
    }
    return process;
}

Result<> TracedProcess::seize(pid_t pid, bool kill_with_us) {
    long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    if (kill_with_us) options |= PTRACE_O_EXITKILL;
    if (::ptrace(PTRACE_SEIZE, pid, nullptr, options) != 0) {
        return not_traceable(errno);
    }
    tasks_.insert(pid);
    running_.insert(pid);
    return stop(pid);
}

}  // namespace tmaprobe::trace
