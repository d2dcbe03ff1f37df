#include "process/held_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/process_end.h"

namespace tmaprobe::process {
namespace {

/// The child's side: becomes the command. Only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, int failure) {
    // Where the kernel lets only ancestors trace (yama), our parent's other children may sample this one too.
    ::prctl(PR_SET_PTRACER, ::getppid());
    ::execvp(argv[0], argv);
    const int reason = errno;
    (void)!::write(failure, &reason, sizeof reason);
    ::_exit(reason == ENOENT ? 127 : 126);
}

/// How long a command may take to end after a second signal, before it is killed.
constexpr std::uint64_t patience_ns_of_a_command = 500'000'000;
constexpr std::int64_t unheard_ns = 100'000'000;  // between two looks at a process whose end nothing tells
constexpr int shell_signal_base = 128;

int shell_status(int status) {
    return WIFSIGNALED(status) ? shell_signal_base + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Of two times to wait, of which negative ones mean for ever.
std::int64_t sooner(std::int64_t one, std::int64_t other) {
    return one < 0 || other < 0 ? std::max(one, other) : std::min(one, other);
}

/// Waits for signals and the descriptor, and ticks in between. `on_wake` is asked before the first wait and after
/// each what to wait for next: a time in ns, negative for ever; nothing ends the wait.
void wait_with_ticks(SignalWatch& signals, int readable, const Ticks& ticks,
                     const std::function<std::optional<std::int64_t>(const SignalWatch::Wake&)>& on_wake) {
    const std::uint64_t start = now_ns();
    std::uint64_t next = start + ticks.every_ns;
    bool ticking = ticks.every_ns > 0 && ticks.on_tick;
    bool once_to_come = static_cast<bool>(ticks.once);
    int watched = ticks.watched;
    SignalWatch::Wake wake;
    while (const auto wanted = on_wake(wake)) {
        const std::uint64_t now = now_ns();
        if (ticks.until_ns && now >= start + ticks.until_ns) return;
        const std::int64_t rest = ticks.until_ns ? static_cast<std::int64_t>(start + ticks.until_ns - now) : -1;
        std::int64_t patience = sooner(*wanted, rest);
        if (once_to_come && now >= start + ticks.once_at_ns) {
            ticks.once();
            once_to_come = false;
        }
        if (once_to_come) patience = sooner(patience, static_cast<std::int64_t>(start + ticks.once_at_ns - now));
        if (watched >= 0 && wake.watched && !ticks.on_watched()) watched = -1;
        if (ticking && now >= next) {
            ticking = ticks.on_tick();
            // A late tick is not made up for: the next is due at the next multiple of the interval.
            next = start + ((now - start) / ticks.every_ns + 1) * ticks.every_ns;
        }
        wake = signals.wait(
            ticking ? sooner(patience, static_cast<std::int64_t>(next - std::min(next, now_ns()))) : patience, readable,
            watched);
    }
}

}  // namespace

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

Result<HeldCommand> HeldCommand::start(const std::vector<std::string>& argv) {
    if (argv.empty()) return fail(ErrorCode::bad_usage, "no command was given");
    int failure[2];
    HeldCommand command;
    if (::pipe2(failure, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    command.failure_ = Fd(failure[0]);
    const Fd failure_write(failure[1]);

    command.program_ = argv.front();
    std::vector<char*> arguments;
    for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);

    command.child_ =
        TRY(HeldChild::start([&] { become(arguments.data(), failure_write.get()); }, HeldChild::Life::its_own));
    command.pid_ = command.child_.pid();
    command.end_ = end_of_process(command.pid_);
    return command;
}

HeldCommand::HeldCommand(HeldCommand&& other) noexcept
    : program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, -1)),
      child_(std::move(other.child_)),
      end_(std::move(other.end_)),
      failure_(std::move(other.failure_)) {}

HeldCommand::~HeldCommand() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Result<> HeldCommand::release() {
    TRY(child_.release());
    int reason = 0;
    ssize_t got = 0;
    do got = ::read(failure_.get(), &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    failure_.close();
    if (got != sizeof reason) return {};
    return cannot_start(program_, reason);
}

std::optional<int> HeldCommand::poll_exit() {
    int status = 0;
    pid_t ended = 0;
    rusage used{};
    do ended = ::wait4(pid_, &status, WNOHANG, &used);
    while (ended < 0 && errno == EINTR);
    if (ended == 0) return std::nullopt;
    const auto ns = [](const timeval& time) {
        return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * static_cast<double>(time.tv_usec);
    };
    processor_ns_ = ns(used.ru_utime) + ns(used.ru_stime);
    page_faults_ = static_cast<std::uint64_t>(used.ru_minflt + used.ru_majflt);
    context_switches_ = static_cast<std::uint64_t>(used.ru_nvcsw + used.ru_nivcsw);
    pid_ = -1;
    // No child to wait for: our parent made us ignore SIGCHLD. How it ended cannot be told then.
    return ended < 0 ? 0 : shell_status(status);
}

void reap_others(pid_t command, pid_t helper) {
    for (;;) {
        siginfo_t ended{};
        if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
        if (ended.si_pid == command || ended.si_pid == helper) return;
        ::waitpid(ended.si_pid, nullptr, 0);
    }
}

tl::unexpected<Error> cannot_start(const std::string& program, int reason) {
    const char* hint =
        reason == ENOENT ? "check the name and PATH; of a script, the interpreter that its first line names"
        : reason == ENOEXEC
            ? "a script needs a first line that names its interpreter (#!/bin/sh); a program must be for this machine"
            : "";
    return fail(ErrorCode::unavailable, "cannot start '" + program + "': " + std::strerror(reason), hint);
}

SignalWatch::SignalWatch() {
    sigemptyset(&watched_);
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&watched_, number);
    ::pthread_sigmask(SIG_BLOCK, &watched_, &saved_mask_);
    // Under an ignored SIGCHLD the kernel would reap the command before we learn how it ended.
    struct sigaction normal{};
    normal.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &normal, &saved_child_);
    signals_ = Fd(::signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalWatch::~SignalWatch() {
    // Signals that arrived after the last wait belong to this measurement, not to what comes after it.
    signalfd_siginfo late{};
    while (::read(signals_.get(), &late, sizeof late) == sizeof late) {
    }
    ::sigaction(SIGCHLD, &saved_child_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &saved_mask_, nullptr);
}

SignalWatch::Wake SignalWatch::wait(std::int64_t timeout_ns, int readable, int watched) {
    if (!signals_) {
        Wake wake = wait_without_descriptor(timeout_ns);
        wake.watched = watched >= 0;  // it may be: whoever looks does not wait
        return wake;
    }
    // poll() passes over descriptors below 0.
    pollfd fds[3] = {{signals_.get(), POLLIN, 0}, {readable, POLLIN, 0}, {watched, POLLIN, 0}};
    const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    if (::ppoll(fds, 3, timeout_ns < 0 ? nullptr : &timeout, nullptr) <= 0) return {};
    Wake wake;
    wake.watched = watched >= 0 && fds[2].revents != 0;
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

int Handover::answer(const SignalWatch::Wake& wake, pid_t command) {
    if (!wake.interrupted) return 0;
    const bool again = std::exchange(signal_, wake.signal) != 0;
    if (again && give_up_at_ == 0) {
        give_up_at_ = now_ns() + patience_ns_of_a_command;
        return SIGTERM;
    }
    const bool has_it = wake.from_terminal && ::getpgid(command) == ::getpgrp();
    return has_it ? 0 : wake.signal;
}

std::int64_t Handover::patience_ns() const {
    return give_up_at_ ? static_cast<std::int64_t>(give_up_at_ - std::min(give_up_at_, now_ns())) : -1;
}

CommandOutcome wait_for(HeldCommand& command, SignalWatch& signals, const Ticks& ticks) {
    Handover handover;
    CommandOutcome outcome;
    wait_with_ticks(signals, command.end(), ticks, [&](const SignalWatch::Wake& wake) -> std::optional<std::int64_t> {
        if (const int signal = handover.answer(wake, command.pid())) ::kill(command.pid(), signal);
        if (wake.interrupted) outcome = {shell_signal_base + wake.signal, true};
        if (const auto status = command.poll_exit()) {
            outcome.status = *status;
            return std::nullopt;
        }
        if (handover.gives_up_at(now_ns())) return std::nullopt;
        // Its SIGCHLD may go to another thread of ours, which drops it: not to be relied upon.
        return sooner(handover.patience_ns(), command.end() < 0 ? unheard_ns : -1);
    });
    return outcome;
}

bool wait_for_processes(const std::vector<pid_t>& processes, SignalWatch& signals, const Ticks& ticks) {
    // One after another: all of them have ended when the last in the row has, whichever ends first. What has no
    // descriptor (a thread; an old kernel) is looked for from time to time.
    struct Waited {
        pid_t process;
        Fd end;
    };
    std::vector<Waited> left;
    for (const pid_t process : processes) left.push_back({process, end_of_process(process)});
    const auto is_there = [](const Waited& waited) {
        pollfd ended{waited.end.get(), POLLIN, 0};
        if (waited.end) return ::poll(&ended, 1, 0) == 0;
        return ::kill(waited.process, 0) == 0 || errno == EPERM;
    };
    // A descriptor of descriptors, so that any number of ends wakes the wait.
    const Fd ends(::epoll_create1(EPOLL_CLOEXEC));
    bool all_seen = static_cast<bool>(ends);
    for (const Waited& waited : left) {
        epoll_event ended{EPOLLIN, {}};
        all_seen = waited.end && ::epoll_ctl(ends.get(), EPOLL_CTL_ADD, waited.end.get(), &ended) == 0 && all_seen;
    }
    bool interrupted = false;
    wait_with_ticks(signals, ends.get(), ticks, [&](const SignalWatch::Wake& wake) -> std::optional<std::int64_t> {
        interrupted = wake.interrupted;
        std::erase_if(left, [&](const Waited& waited) { return !is_there(waited); });  // closes, and so leaves `ends`
        if (interrupted || left.empty()) return std::nullopt;
        return all_seen ? -1 : unheard_ns;
    });
    return interrupted;
}

void wait_for_signal(SignalWatch& signals, const Ticks& ticks) {
    wait_with_ticks(signals, -1, ticks, [](const SignalWatch::Wake& wake) -> std::optional<std::int64_t> {
        if (wake.interrupted) return std::nullopt;
        return -1;
    });
}

}  // namespace tmaprobe::process
