#include "trace/remote_calls.h"

#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>

namespace tmaprobe::trace {
namespace {

constexpr int system_call_stop = SIGTRAP | 0x80;

void set_up_call(Registers& registers, long number, const std::array<std::uint64_t, 6>& arguments) {
    auto& native = registers.native;
#if defined(__x86_64__)
    native.rax = static_cast<unsigned long long>(number);
    native.orig_rax = ~0ull;  // nothing is left to be restarted
    native.rdi = arguments[0];
    native.rsi = arguments[1];
    native.rdx = arguments[2];
    native.r10 = arguments[3];
    native.r8 = arguments[4];
    native.r9 = arguments[5];
#elif defined(__aarch64__)
    for (std::size_t i = 0; i < arguments.size(); ++i) native.regs[i] = arguments[i];
    native.regs[8] = static_cast<unsigned long long>(number);
#endif
}

std::int64_t result_of(const Registers& registers) {
#if defined(__x86_64__)
    return static_cast<std::int64_t>(registers.native.rax);
#elif defined(__aarch64__)
    return static_cast<std::int64_t>(registers.native.regs[0]);
#endif
}

}  // namespace

const long options_for_calls = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;

std::optional<int> wait_for_stop(pid_t thread) {
    // A stop is mostly a few microseconds away: to sleep would take longer, and the program waits meanwhile. A thread
    // of a real-time class wakes at once, and would keep the other from running.
    const int spins = (::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO ? 0 : 300;
    int status = 0;
    for (int tries = 0;; ++tries) {
        const pid_t got = ::waitpid(thread, &status, __WALL | (tries < spins ? WNOHANG : 0));
        if (got == thread) return status;
        if (got < 0 && errno != EINTR) return std::nullopt;
        ::sched_yield();
    }
}

bool has_ended(const std::optional<int>& status) { return !status || WIFEXITED(*status) || WIFSIGNALED(*status); }

void kill_traced(pid_t task) {
    if (task <= 0) return;
    ::kill(task, SIGKILL);
    while (!has_ended(wait_for_stop(task))) {
    }
}

RemoteCalls::Answer RemoteCalls::call(long number, const std::array<std::uint64_t, 6>& arguments) {
    Registers registers = own_;
    registers.set_instruction_pointer(instruction_);
    set_up_call(registers, number, arguments);
    Answer answer;
    if (!write_registers(thread_, registers)) return answer;
    bool entered = false;
    for (;;) {
        if (::ptrace(PTRACE_SYSCALL, thread_, nullptr, nullptr) != 0) {
            answer.gone = true;
            return answer;
        }
        const auto status = wait_for_stop(thread_);
        if (!status || WIFEXITED(*status) || WIFSIGNALED(*status)) {
            answer.gone = true;
            return answer;
        }
        if (event_of(*status) == PTRACE_EVENT_CLONE) {
            unsigned long created = 0;
            if (::ptrace(PTRACE_GETEVENTMSG, thread_, nullptr, &created) == 0)
                answer.created = static_cast<pid_t>(created);
        } else if (event_of(*status) == 0 && WSTOPSIG(*status) == system_call_stop) {
            if (!entered) {
                entered = true;
                continue;
            }
            const auto after = read_registers(thread_);
            if (after) answer.value = result_of(*after);
            return answer;
        } else if (event_of(*status) == 0) {
            // A fault of the injected call is not the program's; one that its last instruction brought about is, and
            // was only waiting for its delivery.
            siginfo_t info{};
            const bool known = ::ptrace(PTRACE_GETSIGINFO, thread_, nullptr, &info) == 0;
            const int signal = WSTOPSIG(*status);
            const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL;
            const bool here =
                known && info.si_code > 0 && reinterpret_cast<std::uint64_t>(info.si_addr) == instruction_;
            answer.signal = fault && here ? 0 : signal;
            return answer;
        } else if (!entered) {
            return answer;  // a stop of its whole process
        }
    }
}

bool RemoteCalls::restore() const { return write_registers(thread_, own_).has_value(); }

}  // namespace tmaprobe::trace
