#include "trace/snapshot.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "trace/remote_calls.h"

namespace tmaprobe::trace {

std::string_view name_of(Missed missed) {
    switch (missed) {
        case Missed::gone:
            return "ended";
        case Missed::waiting:
            return "waiting";
        case Missed::in_kernel:
            return "in_kernel";
        case Missed::stopped:
            return "stopped";
        case Missed::traced:
            return "traced_by_another";
        case Missed::critical:
            return "critical_section";
        case Missed::adopted:
            return "adopted";
        case Missed::other_namespace:
            return "other_namespace";
        case Missed::signalled:
            return "signal";
        case Missed::refused:
            return "refused";
        case Missed::other_code:
            return "not_64_bit_code";
        case Missed::sandboxed:
            return "sandboxed";
        case Missed::no_memory:
            return "no_memory";
        case Missed::no_processes:
            return "no_processes";
        case Missed::shared_memory:
            return "shared_memory";
        case Missed::special_files:
            return "special_files";
        case Missed::waits_for_clones:
            return "waits_for_clones";
        case Missed::old_kernel:
            return "old_kernel";
        case Missed::failed:
            break;
    }
    return "failed";
}

namespace {

sigset_t only(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

bool is_pending(int signal) {
    sigset_t pending;
    return ::sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

}  // namespace

EndingThreads::~EndingThreads() {
    constexpr int most_looks = 500;
    for (int i = 0; i < most_looks && has_calls(); ++i) {
        cut_short();
        const timespec between{0, 1'000'000};
        ::nanosleep(&between, nullptr);
        settle();
    }
}

void EndingThreads::add(pid_t thread, pid_t process) {
    threads_.push_back({thread, process, {}});
    settle();
}

void EndingThreads::hold_the_end() {
    const sigset_t end = only(SIGTERM);
    ::sigprocmask(SIG_BLOCK, &end, nullptr);
    holds_the_end_ = true;
}

void EndingThreads::add(pid_t thread, pid_t process, UnfinishedCall call) {
    const bool goes_on = call.begin() == UnfinishedCall::Outcome::goes_on;
    threads_.push_back({thread, process, {}});
    if (goes_on) threads_.back().call = std::move(call);
    // Mostly it is done in a moment, and nobody but us lets it go on.
    constexpr int most_looks = 20;
    const sigset_t told = only(SIGCHLD);
    const timespec look_again{0, 1'000'000};
    for (int i = 0; i < most_looks && has_calls(); ++i) {
        ::sigtimedwait(&told, nullptr, &look_again);
        settle();
    }
}

bool EndingThreads::has_calls() const {
    return std::ranges::any_of(threads_, [](const Thread& thread) { return thread.call.has_value(); });
}

void EndingThreads::cut_short() {
    for (const Thread& thread : threads_)
        if (thread.call) ::ptrace(PTRACE_INTERRUPT, thread.thread, nullptr, nullptr);
}

void EndingThreads::settle() {
    std::erase_if(threads_, is_settled);
    if (!holds_the_end_) return;
    const bool to_end = is_pending(SIGTERM);
    if (to_end) cut_short();
    if (to_end ? has_calls() : !empty()) return;
    holds_the_end_ = false;
    const sigset_t end = only(SIGTERM);
    ::sigprocmask(SIG_UNBLOCK, &end, nullptr);
}

/// At our stop, which was late. False: it is to be let go.
bool EndingThreads::goes_on_with_its_call(Thread& thread) {
    const auto registers = read_registers(thread.thread);
    if (!registers || !in_system_call(*registers)) return false;
    auto call = UnfinishedCall::find(thread.process, thread.thread, *registers);
    if (!call) {
        begin_again(thread.process, thread.thread, *registers);
        return false;
    }
    if (call->begin() == UnfinishedCall::Outcome::goes_on) thread.call = std::move(call);
    return true;
}

bool EndingThreads::is_settled(Thread& thread) {
    int status = 0;
    const pid_t got = ::waitpid(thread.thread, &status, __WALL | WNOHANG);
    if (got == thread.thread && WIFSTOPPED(status)) {
        if (thread.call) {
            const auto outcome = thread.call->take(status);
            if (outcome == UnfinishedCall::Outcome::killed) thread.call.reset();
            return outcome == UnfinishedCall::Outcome::let_go;
        }
        if (event_of(status) == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP && goes_on_with_its_call(thread))
            return false;
        // Where that fails it is being killed, and its end is still to be waited for.
        const int signal = event_of(status) ? 0 : WSTOPSIG(status);
        return ::ptrace(PTRACE_DETACH, thread.thread, nullptr, signal) == 0;
    }
    if (got >= 0) return got != 0;
    // It may have executed another program, and gone on as the first thread of its process.
    thread.call.reset();
    return std::exchange(thread.thread, thread.process) == thread.process;
}

Snapshot::Snapshot(Snapshot&& other) noexcept { *this = std::move(other); }

Snapshot& Snapshot::operator=(Snapshot&& other) noexcept {
    if (this == &other) return *this;
    kill_traced(std::exchange(copy_, std::exchange(other.copy_, -1)));
    process = other.process;
    thread = other.thread;
    program = std::move(other.program);
    identity = other.identity;
    files = std::move(other.files);
    descriptors = std::move(other.descriptors);
    input = std::move(other.input);
    instruction = other.instruction;
    time_stamp = other.time_stamp;
    resident_bytes = other.resident_bytes;
    faults_before = other.faults_before;
    return *this;
}

Snapshot::~Snapshot() { kill_traced(copy_); }

void Snapshot::kill() { kill_traced(release()); }

pid_t Snapshot::release() { return std::exchange(copy_, -1); }

}  // namespace tmaprobe::trace
