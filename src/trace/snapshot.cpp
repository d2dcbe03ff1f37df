#include "trace/snapshot.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

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

void EndingThreads::add(pid_t thread) {
    threads_.push_back(thread);
    settle();
}

void EndingThreads::settle() {
    std::erase_if(threads_, [](pid_t thread) {
        int status = 0;
        const pid_t got = ::waitpid(thread, &status, __WALL | WNOHANG);
        if (got == thread && WIFSTOPPED(status))
            ::ptrace(PTRACE_DETACH, thread, nullptr, event_of(status) ? 0 : WSTOPSIG(status));
        return got != 0;
    });
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
