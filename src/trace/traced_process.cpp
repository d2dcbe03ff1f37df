#include "trace/traced_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/file.h"
#include "process/held_child.h"
#include "process/held_command.h"
#include "trace/read_memory.h"

namespace tmaprobe::trace {
namespace {

constexpr int shell_signal_base = 128;

constexpr const char* permission_hint =
    "tracing own children needs ptrace: see /proc/sys/kernel/yama/ptrace_scope (2 asks for CAP_SYS_PTRACE, 3 forbids "
    "it) and, in a container, "
    "--cap-add=SYS_PTRACE or a seccomp profile that allows ptrace";

Result<> not_traceable(int error_number) {
    return fail(error_number == EPERM ? ErrorCode::no_permission : ErrorCode::system,
                std::string("this process may not trace its child: ") + std::strerror(error_number), permission_hint);
}

int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : shell_signal_base + WTERMSIG(status); }

/// Whether the signal that a task stopped with is a fault of its own, and nobody's message.
bool caused_by_an_instruction(pid_t task) {
    siginfo_t info{};
    if (::ptrace(PTRACE_GETSIGINFO, task, nullptr, &info) != 0) return false;
    const bool fault =
        info.si_signo == SIGILL || info.si_signo == SIGSEGV || info.si_signo == SIGBUS || info.si_signo == SIGFPE;
    return fault && info.si_code > 0 && info.si_code != SI_KERNEL;
}

/// The signals that a process has handlers for, one bit each.
std::uint64_t caught_signals(pid_t process) {
    const auto status = read_file("/proc/" + std::to_string(process) + "/status");
    const std::size_t at = status ? status->find("\nSigCgt:") : std::string::npos;
    return at == std::string::npos ? 0 : std::strtoull(status->c_str() + at + std::strlen("\nSigCgt:"), nullptr, 16);
}

#if defined(__x86_64__)
/// A signal that is put off as long as this lives, and can be waited for.
class HeldBack {
  public:
    explicit HeldBack(int signal) {
        sigemptyset(&set_);
        sigaddset(&set_, signal);
        ::sigprocmask(SIG_BLOCK, &set_, &before_);
    }
    HeldBack(const HeldBack&) = delete;
    HeldBack& operator=(const HeldBack&) = delete;
    ~HeldBack() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
    void wait_ns(std::int64_t ns) const {
        const timespec time{0, static_cast<long>(ns)};
        ::sigtimedwait(&set_, nullptr, &time);
    }

  private:
    sigset_t set_{}, before_{};
};
#endif

}  // namespace

bool Stop::is_fault() const {
    return why == Why::signal && !sent &&
           (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL);
}

Result<TracedProcess> TracedProcess::fork_function(const std::function<void()>& body) {
    auto child = TRY(process::HeldChild::start(body, process::HeldChild::Life::ours));
    TracedProcess process;
    process.pid_ = child.pid();
    if (::ptrace(PTRACE_SEIZE, process.pid_, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) != 0) {
        const int refused = errno;
        process.kill();
        return pass_on(not_traceable(refused));
    }
    TRY(process.interrupt());
    TRY(child.release());
    return process;
}

TracedProcess TracedProcess::of_copy(pid_t copy) {
    TracedProcess process;
    process.is_copy_ = true;
    process.pid_ = copy;
    ::ptrace(PTRACE_SETOPTIONS, copy, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
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

TracedProcess::TracedProcess(TracedProcess&& other) noexcept { *this = std::move(other); }

TracedProcess& TracedProcess::operator=(TracedProcess&& other) noexcept {
    if (this == &other) return *this;
    kill();
    on_illegal_instruction = std::move(other.on_illegal_instruction);
    pid_ = std::exchange(other.pid_, -1);
    exit_status_ = other.exit_status_;
    native_runs_ = other.native_runs_;
    memory_ = std::move(other.memory_);
    is_copy_ = other.is_copy_;
    pending_signal_ = other.pending_signal_;
    return *this;
}

TracedProcess::~TracedProcess() { kill(); }

void TracedProcess::kill() {
    if (pid_ > 0 && !exit_status_) {
        ::kill(pid_, SIGKILL);
        int status = 0;
        for (;;) {
            const pid_t got = ::waitpid(pid_, &status, __WALL);
            if (got == pid_ ? !WIFSTOPPED(status) : errno != EINTR) break;
        }
    }
    pid_ = -1;
}

bool TracedProcess::has_further_threads() const {
    struct stat folder{};
    constexpr nlink_t alone = 3;  // itself, its parent, and one thread
    return ::stat(("/proc/" + std::to_string(pid_) + "/task").c_str(), &folder) == 0 && folder.st_nlink > alone;
}

Stop TracedProcess::classify(int status) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        exit_status_ = status_of(status);
        return {Stop::Why::exited, 0, *exit_status_};
    }
    if (status >> 16 != 0) return {Stop::Why::event, 0, 0};
    const int signal = WSTOPSIG(status);
    constexpr int at_a_call = SIGTRAP | 0x80;
    if (signal == at_a_call) return {Stop::Why::call, 0, 0};
    siginfo_t info{};
    const bool known = ::ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info) == 0;
    const bool sent = known && info.si_code <= 0;
    // A breakpoint of the program's own is met while it runs untraced, and is its own to handle.
    if (signal == SIGTRAP && !sent) return {Stop::Why::step, known && info.si_code == SI_KERNEL ? SIGTRAP : 0, 0};
    return {Stop::Why::signal, signal, 0, sent};
}

Result<Stop> TracedProcess::wait() {
    int status = 0;
    for (;;) {
        const pid_t got = ::waitpid(pid_, &status, __WALL);
        if (got == pid_) return classify(status);
        if (got < 0 && errno != EINTR) return fail_errno(errno, "cannot wait for the traced thread");
    }
}

Result<Stop> TracedProcess::interrupt() {
    if (::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) != 0)
        return fail_errno(errno, "cannot stop the traced thread");
    auto stop = TRY(wait());
    // A signal that came first is kept for the next resumption; one that an instruction caused is not, because
    // that instruction is met again, and by then it may be executed for the thread.
    if (stop.why == Stop::Why::signal && !caused_by_an_instruction(pid_)) pending_signal_ = stop.signal;
    return stop;
}

int TracedProcess::take_pending_signal() { return std::exchange(pending_signal_, 0); }

Result<> TracedProcess::go_on_after(const Stop& stop) {
    int signal = stop.signal;
    if (signal == SIGILL && on_illegal_instruction && on_illegal_instruction(*this)) signal = 0;
    if (::ptrace(PTRACE_CONT, pid_, nullptr, signal) != 0 && errno != ESRCH)
        return fail_errno(errno, "cannot resume the traced thread");
    return {};
}

Result<bool> TracedProcess::run_for(int milliseconds) {
    constexpr std::uint64_t ns_per_ms = 1'000'000;
    ++native_runs_;
    TRY(go_on_after({Stop::Why::signal, take_pending_signal(), 0}));
    const std::uint64_t end = process::now_ns() + static_cast<std::uint64_t>(milliseconds) * ns_per_ms;
    while (process::now_ns() < end) {
        int status = 0;
        if (::waitpid(pid_, &status, __WALL | WNOHANG) != pid_) {
            constexpr timespec nap{0, 200'000};
            ::nanosleep(&nap, nullptr);
            continue;
        }
        const Stop stop = classify(status);
        if (stop.why == Stop::Why::exited) return false;
        TRY(go_on_after(stop));
    }
    auto stop = TRY(interrupt());
    return stop.why != Stop::Why::exited;
}

Result<> TracedProcess::finish() {
    if (exit_status_) return {};
    ++native_runs_;
    TRY(go_on_after({Stop::Why::signal, take_pending_signal(), 0}));
    for (;;) {
        auto stop = TRY(wait());
        if (stop.why == Stop::Why::exited) return {};
        TRY(go_on_after(stop));
    }
}

std::optional<Stop> TracedProcess::end_instead_of(int signal) {
    if (!is_copy_ || signal == 0 || signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH)
        return std::nullopt;
    if (caught_signals(pid_) >> (signal - 1) & 1) return std::nullopt;
    const pid_t copy = pid_;
    kill();
    pid_ = copy;
    exit_status_ = shell_signal_base + signal;
    return Stop{Stop::Why::exited, 0, shell_signal_base + signal};
}

Result<Stop> TracedProcess::step(int signal) {
    if (signal == 0) signal = take_pending_signal();
    if (const auto ended = end_instead_of(signal)) return *ended;
    if (::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, signal) != 0)
        return fail_errno(errno, "cannot single-step the traced thread");
    return wait();
}

Result<Stop> TracedProcess::resume(int signal) {
    if (const auto ended = end_instead_of(signal)) return *ended;
    if (::ptrace(PTRACE_CONT, pid_, nullptr, signal) != 0) return fail_errno(errno, "cannot resume the traced thread");
    return wait();
}

Result<Registers> TracedProcess::registers() const { return read_registers(pid_); }
Result<> TracedProcess::set_registers(const Registers& registers) const { return write_registers(pid_, registers); }

Result<std::optional<Stop>> TracedProcess::run_to_call(int signal, const std::function<std::int64_t()>& left_ns) {
#if defined(__x86_64__)
    if (signal == 0) signal = take_pending_signal();
    if (const auto ended = end_instead_of(signal)) return ended;
    ++native_runs_;
    // Held back, so that none is lost between two looks.
    const HeldBack stops(SIGCHLD);
    if (::ptrace(PTRACE_SYSEMU, pid_, nullptr, signal) != 0) return fail_errno(errno, "cannot resume the copy");
    for (;;) {
        int status = 0;
        const pid_t got = ::waitpid(pid_, &status, __WALL | WNOHANG);
        if (got == pid_) return classify(status);
        if (got < 0 && errno != EINTR) return fail_errno(errno, "cannot wait for the copy");
        const std::int64_t left = left_ns();
        if (left <= 0) break;
        constexpr std::int64_t between_looks_ns = 1'000'000;
        stops.wait_ns(std::min(left, between_looks_ns));
    }
    auto stop = TRY(interrupt());
    if (stop.why == Stop::Why::call || stop.why == Stop::Why::exited) return stop;
    return std::nullopt;
#else
    static_cast<void>(signal);
    static_cast<void>(left_ns);
    return fail(ErrorCode::unavailable, "copies are not let run on this architecture");
#endif
}

double TracedProcess::processor_ns() const {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
    constexpr double ns_per_s = 1e9;
    return static_cast<double>(used.tv_sec) * ns_per_s + static_cast<double>(used.tv_nsec);
}

std::size_t TracedProcess::read(std::uint64_t address, void* to, std::size_t bytes) const {
    return read_memory(pid_, address, to, bytes);
}

bool TracedProcess::write(std::uint64_t address, const void* from, std::size_t bytes) const {
    const auto write_it = [&] {
        return memory_ &&
               ::pwrite(memory_.get(), from, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
    };
    if (write_it()) return true;
    // What is open is the memory of the program that it was before it executed another.
    memory_ = Fd(::open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_WRONLY | O_CLOEXEC));
    return write_it();
}

}  // namespace tmaprobe::trace
