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

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/fd.h"
#include "base/file.h"
#include "process/held_command.h"

namespace tmaprobe::trace {
namespace {

constexpr int shell_signal_base = 128;

std::uint64_t now_ms() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1000 + static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
}

void pause_us(long microseconds) {
    if (microseconds <= 0) return;
    const timespec time{0, microseconds * 1000};
    ::nanosleep(&time, nullptr);
}

int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : shell_signal_base + WTERMSIG(status); }

/// User and system time of a task in ns: of the scheduler, or where that tells nothing, in clock ticks. Its own files:
/// those in /proc/TASK are of the whole process.
std::uint64_t processor_time(pid_t task) {
    const std::string folder = "/proc/" + std::to_string(task) + "/task/" + std::to_string(task);
    if (const std::string exact = read_line(folder + "/schedstat"); !exact.empty())
        return std::strtoull(exact.c_str(), nullptr, 10);
    const std::string line = read_line(folder + "/stat");
    const std::size_t after_name = line.rfind(')');
    if (after_name == std::string::npos) return 0;
    unsigned long long user = 0, system = 0;
    if (std::sscanf(line.c_str() + after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
                    &system) != 2)
        return 0;
    return (user + system) * (1'000'000'000 / static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_CLK_TCK))));
}

/// Who used most processor time since `before`.
struct Busiest {
    pid_t task = -1;
    std::uint64_t used_ns = 0;
};

std::map<pid_t, std::uint64_t> processor_times(const std::set<pid_t>& tasks) {
    std::map<pid_t, std::uint64_t> times;
    for (const pid_t task : tasks) times[task] = processor_time(task);
    return times;
}

Busiest busiest_since(const std::map<pid_t, std::uint64_t>& before, const std::set<pid_t>& tasks) {
    Busiest busiest;
    for (const auto& [task, now] : processor_times(tasks)) {
        const auto then = before.find(task);
        const std::uint64_t used = now - std::min(now, then == before.end() ? 0 : then->second);
        if (used > busiest.used_ns) busiest = {task, used};
    }
    return busiest;
}

/// The process that a task is a thread of; the task itself when it is gone.
pid_t process_of(pid_t task) {
    const auto status = read_file("/proc/" + std::to_string(task) + "/status");
    const std::size_t at = status ? status->find("\nTgid:") : std::string::npos;
    int process = task;
    if (at != std::string::npos) std::sscanf(status->c_str() + at, "\nTgid: %d", &process);
    return process;
}

/// What the kernel says of a task after this key; empty when it is gone.
std::string status_field(pid_t task, const std::string& key) {
    const auto text = read_file("/proc/" + std::to_string(task) + "/status");
    const std::size_t at = text ? text->find("\n" + key) : std::string::npos;
    return at == std::string::npos ? std::string()
                                   : text->substr(at + 1 + key.size(), text->find('\n', at + 1) - at - 1 - key.size());
}

/// Whether the signal that a task stopped with is a fault of its own, and nobody's message.
bool caused_by_an_instruction(pid_t task) {
    siginfo_t info{};
    if (::ptrace(PTRACE_GETSIGINFO, task, nullptr, &info) != 0) return false;
    const bool fault =
        info.si_signo == SIGILL || info.si_signo == SIGSEGV || info.si_signo == SIGBUS || info.si_signo == SIGFPE;
    return fault && info.si_code > 0 && info.si_code != SI_KERNEL;
}

}  // namespace

bool Stop::is_fault() const {
    return why == Why::signal && !sent &&
           (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL);
}

TracedProcess::TracedProcess(TracedProcess&& other) noexcept { *this = std::move(other); }

TracedProcess& TracedProcess::operator=(TracedProcess&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    on_illegal_instruction = std::move(other.on_illegal_instruction);
    signal_to_hand_on = std::move(other.signal_to_hand_on);
    pid_ = std::exchange(other.pid_, -1);
    thread_ = std::exchange(other.thread_, -1);
    tasks_ = std::exchange(other.tasks_, {});
    running_ = std::exchange(other.running_, {});
    further_tasks_ = other.further_tasks_;
    exit_status_ = other.exit_status_;
    released_ns_ = other.released_ns_;
    ended_ns_ = other.ended_ns_;
    own_ns_ = other.own_ns_;
    perhaps_own_ns_ = other.perhaps_own_ns_;
    stops_ = other.stops_;
    native_runs_ = other.native_runs_;
    ours_ = other.ours_;
    is_copy_ = other.is_copy_;
    written_ = std::move(other.written_);
    written_thread_ = other.written_thread_;
    pending_signals_ = std::move(other.pending_signals_);
    return *this;
}

TracedProcess::~TracedProcess() { let_go(); }

void TracedProcess::let_go() {
    if (pid_ <= 0) return;
    const std::set<pid_t> tasks = std::exchange(tasks_, {});
    for (const pid_t task : tasks) {
        if (ours_ || task == pid_) {
            ::kill(task, SIGKILL);
        } else {
            // A child that outlives its command goes on without us.
            if (running_.count(task) && ::ptrace(PTRACE_INTERRUPT, task, nullptr, nullptr) == 0) {
                int status = 0;
                ::waitpid(task, &status, __WALL);
            }
            ::ptrace(PTRACE_DETACH, task, nullptr, nullptr);
            continue;
        }
        int status = 0;
        while (::waitpid(task, &status, __WALL) == task && WIFSTOPPED(status)) {
        }
    }
    pid_ = -1;
}

Result<> TracedProcess::stop(pid_t task) {
    if (!running_.count(task)) return {};
    if (::ptrace(PTRACE_INTERRUPT, task, nullptr, nullptr) != 0)
        return fail_errno(errno, "cannot stop the traced thread");
    // It may stand in a vfork, waiting for a child that has to be let run before it can stop.
    const pid_t previous = std::exchange(thread_, task);
    auto classified = wait_for_thread();
    thread_ = previous;
    if (!classified) return pass_on(classified);
    // A signal that came first is kept for the next resumption; one that an instruction caused is not, because
    // that instruction is met again, and by then it may be executed for the thread.
    if (classified->why == Stop::Why::signal && !caused_by_an_instruction(task))
        pending_signals_[task] = classified->signal;
    return {};
}

Result<Stop> TracedProcess::classify(pid_t task, int status) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        note_end(task, status);
        return Stop{Stop::Why::exited, 0, status_of(status)};
    }
    running_.erase(task);
    const int event = status >> 16;
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
        unsigned long created = 0;
        if (::ptrace(PTRACE_GETEVENTMSG, task, nullptr, &created) == 0) add_task(static_cast<pid_t>(created));
        return Stop{Stop::Why::event, 0, 0};
    }
    if (event == PTRACE_EVENT_EXEC) {
        ++execs_[task];        // whichever thread asked for it now has the process's number
        written_thread_ = -1;  // the open file is still that of the memory before
    }
    if (event != 0) return Stop{Stop::Why::event, 0, 0};
    const int signal = WSTOPSIG(status);
    siginfo_t info{};
    const bool known = ::ptrace(PTRACE_GETSIGINFO, task, nullptr, &info) == 0;
    const bool sent = known && info.si_code <= 0;
    // A breakpoint of the program's own is met while it runs untraced, and is its own to handle.
    if (signal == SIGTRAP && !sent) return Stop{Stop::Why::step, known && info.si_code == SI_KERNEL ? SIGTRAP : 0, 0};
    return Stop{Stop::Why::signal, signal, 0, sent};
}

void TracedProcess::add_task(pid_t task) {
    if (!tasks_.insert(task).second) return;
    processes_[task] = process_of(task);
    ++further_tasks_;
    running_.insert(task);  // its first stop is still to come
}

void TracedProcess::note_end(pid_t task, int status) {
    tasks_.erase(task);
    running_.erase(task);
    pending_signals_.erase(task);
    if (task != pid_) return;
    exit_status_ = status_of(status);
    ended_ns_ = process::now_ns();
}

void TracedProcess::resume_all() {
    for (const pid_t task : std::set<pid_t>(tasks_)) {
        if (running_.count(task)) continue;
        int signal = 0;
        if (const auto pending = pending_signals_.find(task); pending != pending_signals_.end()) {
            signal = pending->second;
            pending_signals_.erase(pending);
        }
        if (::ptrace(PTRACE_CONT, task, nullptr, signal) == 0)
            running_.insert(task);
        else if (errno == ESRCH)
            tasks_.erase(task);
    }
}

void TracedProcess::handle_while_running(pid_t task, int status) {
    ++stops_;
    auto stopped = classify(task, status);
    if (!stopped || stopped->why == Stop::Why::exited) return;
    int signal = stopped->signal;
    if (signal == SIGILL && on_illegal_instruction) {
        const pid_t previous = std::exchange(thread_, task);
        if (on_illegal_instruction(*this)) signal = 0;
        thread_ = previous;
    }
    if (::ptrace(PTRACE_CONT, task, nullptr, signal) == 0) running_.insert(task);
}

Result<bool> TracedProcess::run_for(int milliseconds, double least_busy) {
    constexpr int longest_period_ms = 64;
    auto before = processor_times(tasks_);
    ++native_runs_;
    resume_all();
    int period_ms = milliseconds;
    std::uint64_t deadline = now_ms() + static_cast<std::uint64_t>(milliseconds);
    Busiest busiest;
    constexpr long nap_us = 200;
    // A stop often follows another at once: a nap after each would make a program that lives with signals crawl.
    constexpr int patience = 100;
    int idle = 0;
    while (!exit_status_) {
        constexpr pid_t nobody = 0;
        const bool any = serve_all_but(nobody);
        if (milliseconds >= 0 && now_ms() >= deadline) {
            busiest = busiest_since(before, tasks_);
            if (static_cast<double>(busiest.used_ns) >= least_busy * 1e6 * period_ms) break;
            before = processor_times(tasks_);
            period_ms = std::clamp(2 * period_ms, milliseconds, std::max(milliseconds, longest_period_ms));
            deadline = now_ms() + static_cast<std::uint64_t>(period_ms);
        }
        idle = any ? 0 : idle + 1;
        // Whoever hands signals on hears at once when something stopped or ended.
        const bool nap = !any && (signal_to_hand_on || idle > patience);
        hand_signal_on(nap ? nap_us : 0);
        if (!any && !nap) ::sched_yield();
    }
    if (exit_status_) return false;
    const pid_t chosen = tasks_.contains(busiest.task) ? busiest.task : pid_;
    TRY(stop(chosen));
    thread_ = chosen;
    return !exit_status_;
}

void TracedProcess::hand_signal_on(long microseconds) const {
    if (!signal_to_hand_on)
        pause_us(microseconds);
    else if (const int signal = signal_to_hand_on(microseconds * 1000))
        ::kill(pid_, signal);
}

Result<> TracedProcess::finish() {
    constexpr int for_ever = -1;
    TRY(run_for(for_ever));
    return {};
}

Result<Stop> TracedProcess::wait_for_thread() {
    int status = 0;
    for (int idle = 0;; ++idle) {
        // Alone, it can be waited for; else it may itself be waiting for another that has to be let run. Nor may a
        // signal that is meant for it wait until a system call of its own has ended.
        const bool nothing_else = tasks_.size() <= 1 && !signal_to_hand_on;
        const pid_t got = ::waitpid(thread_, &status, __WALL | (nothing_else ? 0 : WNOHANG));
        if (got == thread_) return classify(thread_, status);
        if (got < 0 && errno != EINTR) return fail_errno(errno, "cannot wait for the traced thread");
        constexpr int spins = 10, patience = 1000;
        constexpr long nap_us = 100, long_nap_us = 2000;
        const bool served = serve_all_but(thread_);
        hand_signal_on(served || idle < spins ? 0 : idle < patience ? nap_us : long_nap_us);
    }
}

bool TracedProcess::serve_all_but(pid_t excepted) {
    bool any = false;
    for (const pid_t task : std::set<pid_t>(tasks_)) {
        int status = 0;
        if (task == excepted) continue;
        const pid_t got = ::waitpid(task, &status, __WALL | WNOHANG);
        if (got == task) {
            handle_while_running(task, status);
            any = true;
        } else if (got < 0 && errno == ECHILD) {
            tasks_.erase(task);  // a thread that another thread's exec took away
            running_.erase(task);
        }
    }
    return any;
}

Result<Stop> TracedProcess::step(int signal) {
    if (const auto pending = pending_signals_.find(thread_); signal == 0 && pending != pending_signals_.end()) {
        signal = pending->second;
        pending_signals_.erase(pending);
    }
    if (const auto ended = end_instead_of(signal)) return *ended;
    const std::uint64_t start = process::now_ns();
    if (::ptrace(PTRACE_SINGLESTEP, thread_, nullptr, signal) != 0)
        return fail_errno(errno, "cannot single-step the traced thread");
    auto stopped = wait_for_thread();
    constexpr std::uint64_t stop_ns = 20'000, stop_and_nap_ns = 300'000;
    const std::uint64_t spent = process::now_ns() - start;
    if (spent > stop_and_nap_ns)
        own_ns_ += spent;
    else if (spent > stop_ns)
        perhaps_own_ns_ += spent;
    return stopped;
}

std::uint64_t TracedProcess::processor_ns() const { return processor_time(thread_); }

std::uint64_t TracedProcess::processor_ns_of_others() const {
    std::uint64_t sum = 0;
    for (const pid_t task : tasks_)
        if (task != thread_) sum += processor_time(task);
    return sum;
}

std::optional<Stop> TracedProcess::end_instead_of(int signal) {
    if (!is_copy_ || signal == 0 || signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH)
        return std::nullopt;
    const std::uint64_t caught = std::strtoull(status_field(pid_, "SigCgt:").c_str(), nullptr, 16);
    if (caught >> (signal - 1) & 1) return std::nullopt;
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, __WALL) == pid_ && WIFSTOPPED(status)) {
    }
    note_end(pid_, status);
    return Stop{Stop::Why::exited, 0, shell_signal_base + signal};
}

Result<Stop> TracedProcess::resume(int signal) {
    if (const auto ended = end_instead_of(signal)) return *ended;
    if (::ptrace(PTRACE_CONT, thread_, nullptr, signal) != 0)
        return fail_errno(errno, "cannot resume the traced thread");
    return wait_for_thread();
}

std::pair<pid_t, std::size_t> TracedProcess::address_space() const {
    const auto known = processes_.find(thread_);
    const pid_t process = known == processes_.end() ? thread_ : known->second;
    const auto execs = execs_.find(process);
    return {process, execs == execs_.end() ? 0 : execs->second};
}

pid_t TracedProcess::process_of_thread() const {
    const std::string number = status_field(thread_, "Tgid:");
    return number.empty() ? thread_ : static_cast<pid_t>(std::atol(number.c_str()));
}

Result<Registers> TracedProcess::registers() const { return read_registers(thread_); }
Result<> TracedProcess::set_registers(const Registers& registers) const { return write_registers(thread_, registers); }

std::size_t TracedProcess::read(std::uint64_t address, void* to, std::size_t bytes) const {
    const iovec local{to, bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = ::process_vm_readv(thread_, &local, 1, &remote, 1, 0);
    if (got > 0) return static_cast<std::size_t>(got);
    // Some sandboxes refuse the call above, but not the file.
    const Fd memory(::open(("/proc/" + std::to_string(thread_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t read_bytes = memory ? ::pread(memory.get(), to, bytes, static_cast<off_t>(address)) : -1;
    return read_bytes > 0 ? static_cast<std::size_t>(read_bytes) : 0;
}

bool TracedProcess::write(std::uint64_t address, const void* from, std::size_t bytes) const {
    if (written_thread_ != thread_) {
        written_ = Fd(::open(("/proc/" + std::to_string(thread_) + "/mem").c_str(), O_WRONLY | O_CLOEXEC));
        written_thread_ = thread_;
    }
    return written_ &&
           ::pwrite(written_.get(), from, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

}  // namespace tmaprobe::trace
