#include "counters/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tmaprobe::counters {
namespace {

/// The child's side: waits for the byte, then becomes the command. Only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, int go, int failure) {
    char byte = 0;
    ssize_t got = 0;
    do got = ::read(go, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1) ::_exit(127);  // our parent is gone, or gave up
    ::execvp(argv[0], argv);
    const int reason = errno;
    (void)!::write(failure, &reason, sizeof reason);
    ::_exit(reason == ENOENT ? 127 : 126);
}

/// How long a command may take to end after a second signal, before it is killed.
constexpr std::int64_t patience_ns = 500'000'000;
constexpr std::int64_t unheard_ns = 100'000'000;  // between two looks at a command whose end nothing tells

int shell_status(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

Result<HeldCommand> HeldCommand::start(const std::vector<std::string>& argv) {
    if (argv.empty()) return fail(ErrorCode::bad_usage, "no command was given");
    int go[2], failure[2];
    // A socket, because writing to the pipe of a child that was killed would kill us too (SIGPIPE).
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) != 0) return fail_errno(errno, "cannot make a socket pair");
    HeldCommand command;
    Fd go_read(go[0]);
    command.go_ = Fd(go[1]);
    if (::pipe2(failure, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    command.failure_ = Fd(failure[0]);
    Fd failure_write(failure[1]);

    command.program_ = argv.front();
    std::vector<char*> arguments;
    for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);

    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "cannot start '" + command.program_ + "'");
    if (pid == 0) {
        command.go_.close();  // else the child would never see the end of its own pipe
        become(arguments.data(), go_read.get(), failure_write.get());
    }
    command.pid_ = pid;
    command.end_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    return command;
}

HeldCommand::HeldCommand(HeldCommand&& other) noexcept
    : program_(std::move(other.program_)), pid_(std::exchange(other.pid_, -1)), go_(std::move(other.go_)),
      end_(std::move(other.end_)), failure_(std::move(other.failure_)) {}

HeldCommand::~HeldCommand() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

Result<> HeldCommand::release() {
    const char byte = 1;
    if (::send(go_.get(), &byte, 1, MSG_NOSIGNAL) != 1) return fail_errno(errno, "cannot start '" + program_ + "'");
    go_.close();
    int reason = 0;
    ssize_t got = 0;
    do got = ::read(failure_.get(), &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    failure_.close();
    if (got != sizeof reason) return {};
    return fail(ErrorCode::unavailable, "cannot start '" + program_ + "': " + std::strerror(reason));
}

std::optional<int> HeldCommand::poll_exit() {
    int status = 0;
    pid_t ended = 0;
    do ended = ::waitpid(pid_, &status, WNOHANG);
    while (ended < 0 && errno == EINTR);
    if (ended == 0) return std::nullopt;
    pid_ = -1;
    // No child to wait for: our parent made us ignore SIGCHLD. How it ended cannot be told then.
    return ended < 0 ? 0 : shell_status(status);
}

SignalWatch::SignalWatch() {
    sigemptyset(&watched_);
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&watched_, number);
    ::pthread_sigmask(SIG_BLOCK, &watched_, &saved_mask_);
    // Under an ignored SIGCHLD the kernel would reap the command before we learn how it ended.
    struct sigaction normal {};
    normal.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &normal, &saved_child_);
    signals_ = Fd(::signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalWatch::~SignalWatch() {
    // Signals that arrived after the last wait belong to this measurement, not to what comes after it.
    signalfd_siginfo late{};
    while (::read(signals_.get(), &late, sizeof late) == sizeof late) {}
    ::sigaction(SIGCHLD, &saved_child_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &saved_mask_, nullptr);
}

SignalWatch::Wake SignalWatch::wait(std::int64_t timeout_ns, int readable) {
    if (!signals_) return wait_without_descriptor(timeout_ns);
    pollfd fds[2] = {{signals_.get(), POLLIN, 0}, {readable, POLLIN, 0}};
    const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    if (::ppoll(fds, readable >= 0 ? 2 : 1, timeout_ns < 0 ? nullptr : &timeout, nullptr) <= 0) return {};
    Wake wake;
    wake.readable = readable >= 0 && (fds[1].revents & (POLLIN | POLLHUP)) != 0;
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD) continue;
        wake.interrupted = true;
        wake.signal = static_cast<int>(info.ssi_signo);
        wake.from_terminal = info.ssi_code == SI_KERNEL;
        break;
    }
    return wake;
}

/// Without a descriptor for signals (none was left), they are fetched one by one; the caller looks again
/// often for what else it waits for.
SignalWatch::Wake SignalWatch::wait_without_descriptor(std::int64_t timeout_ns) const {
    constexpr std::int64_t patience_ns = 10'000'000;
    if (timeout_ns < 0 || timeout_ns > patience_ns) timeout_ns = patience_ns;
    const timespec timeout{0, timeout_ns};
    siginfo_t info{};
    const int number = ::sigtimedwait(&watched_, &info, &timeout);
    if (number <= 0 || number == SIGCHLD) return {};
    Wake wake;
    wake.interrupted = true;
    wake.signal = number;
    wake.from_terminal = info.si_code == SI_KERNEL;
    return wake;
}

CommandOutcome wait_for(HeldCommand& command, SignalWatch& signals, std::uint64_t tick_ns,
                        const std::function<bool()>& on_tick) {
    CommandOutcome outcome;
    const std::uint64_t start = now_ns();
    std::uint64_t next = start + tick_ns;
    bool ticking = tick_ns > 0 && on_tick;
    std::uint64_t give_up_at = 0;  // after a second signal
    for (;;) {
        if (const auto status = command.poll_exit()) {
            outcome.status = *status;
            return outcome;
        }
        const std::uint64_t now = now_ns();
        if (ticking && now >= next) {
            ticking = on_tick();
            // A late tick is not made up for: the next is due at the next multiple of the interval.
            next = start + ((now - start) / tick_ns + 1) * tick_ns;
        }
        if (give_up_at && now >= give_up_at) return outcome;
        std::int64_t timeout = ticking ? static_cast<std::int64_t>(next - std::min(next, now_ns())) : -1;
        if (give_up_at && (timeout < 0 || timeout > patience_ns)) timeout = patience_ns;
        // Its SIGCHLD may go to another thread of ours, which drops it: not to be relied upon.
        if (command.end() < 0 && (timeout < 0 || timeout > unheard_ns)) timeout = unheard_ns;
        const auto wake = signals.wait(timeout, command.end());
        if (!wake.interrupted) continue;
        // A command that ignores the first signal may have reasons; the second is meant for us as well.
        const bool again = std::exchange(outcome.interrupted, true);
        outcome.status = 128 + wake.signal;
        if (again && !give_up_at) {
            give_up_at = now_ns() + patience_ns;
            ::kill(command.pid(), SIGTERM);
        } else if (!wake.from_terminal || ::getpgid(command.pid()) != ::getpgrp()) {
            ::kill(command.pid(), wake.signal);
        }
    }
}

}  // namespace tmaprobe::counters
