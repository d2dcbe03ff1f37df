// Programs that trace, are traced, or forbid things: ptrace is theirs, and so is seccomp.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

long long tracer_pid() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("TracerPid:", 0) == 0) return atoll(line.c_str() + 10);
    return -1;
}

void looks_for_a_tracer() {
    for (Span span; span.lasts();) {
        busy(3);
        if (!expect(tracer_pid() == 0, "nobody traces this process")) return;
    }
}

/// A program that refuses to be debugged asks to be traced by its parent, which fails if somebody traces it already.
void asks_to_be_traced() {
    for (Span span; span.lasts();) {
        pid_t child = child_of([] {
            busy(10);
            return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1;
        });
        if (!expect_equal("status", WEXITSTATUS(wait_for(child)), 0)) return;
    }
}

void asks_before_exec() {
    for (Span span; span.lasts();) {
        pid_t child = child_of([] {
            busy(5);
            if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 9;
            execl("/bin/true", "true", nullptr);
            return 8;
        });
        int status = wait_for(child);
        if (!expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "stopped at its exec")) return;
        ptrace(PTRACE_CONT, child, nullptr, nullptr);
        if (!expect_equal("status", wait_for(child), 0)) return;
    }
}

#ifdef __x86_64__
[[gnu::noinline]] int broken_into(int value) {
    asm volatile("" : "+r"(value));
    return value + 1;
}

/// A small debugger: a breakpoint in its child, which it removes, steps over and sets again.
void breakpoints() {
    constexpr int kCalls = 50;
    pid_t child = child_of([] {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        int value = 0;
        for (int i = 0; i < kCalls; ++i) {
            busy(work_ms() / (2.0 * kCalls));
            value = broken_into(value);
        }
        return value;
    });
    expect_equal("first stop", WSTOPSIG(wait_for(child)), SIGSTOP);
    auto* place = reinterpret_cast<void*>(&broken_into);
    long original = ptrace(PTRACE_PEEKTEXT, child, place, nullptr);
    long trap = (original & ~0xffL) | 0xcc;
    ptrace(PTRACE_POKETEXT, child, place, trap);
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    int hits = 0, status = 0;
    for (;;) {
        status = wait_for(child);
        if (!WIFSTOPPED(status)) break;
        if (!expect_equal("stop", WSTOPSIG(status), SIGTRAP)) break;
        ++hits;
        user_regs_struct registers{};
        ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        registers.rip -= 1;
        expect(registers.rip == reinterpret_cast<unsigned long long>(place), "at the breakpoint");
        ptrace(PTRACE_SETREGS, child, nullptr, &registers);
        ptrace(PTRACE_POKETEXT, child, place, original);
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        expect_equal("after a step", WSTOPSIG(wait_for(child)), SIGTRAP);
        ptrace(PTRACE_POKETEXT, child, place, trap);
        ptrace(PTRACE_CONT, child, nullptr, nullptr);
    }
    expect_equal("hits", hits, kCalls);
    expect_equal("exit status", WEXITSTATUS(status), kCalls);
}

/// Counts the system calls of a child, as strace does.
void counted_calls() {
    constexpr int kCalls = 300;
    pid_t child = child_of([] {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        for (int i = 0; i < kCalls; ++i) {
            if (!computed_right(30'000)) return 1;
            syscall(SYS_getppid);
        }
        return 0;
    });
    wait_for(child);
    ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD);
    int entered = 0;
    for (bool inside = false;;) {
        ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
        int status = wait_for(child);
        if (!WIFSTOPPED(status)) break;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
        inside = !inside;
        user_regs_struct registers{};
        ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        if (inside && registers.orig_rax == SYS_getppid) ++entered;
        if (inside) expect(registers.orig_rax != SYS_clone, "no call that the child did not make");
    }
    expect_equal("calls", entered, kCalls);
}
#endif

/// Attaches to a child that computes, as a debugger does, and lets it go.
void attaches() {
    pid_t child = child_of([] {
        busy(work_ms());
        return 6;
    });
    for (int round = 0; round < 5; ++round) {
        sleep_ms(work_ms() / 10.0);
        if (!expect(ptrace(PTRACE_ATTACH, child, nullptr, nullptr) == 0, "a debugger may attach")) break;
        expect_equal("stop", WSTOPSIG(wait_for(child)), SIGSTOP);
        ptrace(PTRACE_DETACH, child, nullptr, nullptr);
    }
    expect_equal("exit status", WEXITSTATUS(wait_for(child)), 6);
}

void seizes() {
    pid_t child = child_of([] {
        busy(work_ms() * 0.7);
        raise(SIGUSR1);
        return 0;
    });
    if (!expect(ptrace(PTRACE_SEIZE, child, nullptr, PTRACE_O_TRACEEXIT) == 0, "a debugger may seize")) return;
    for (int round = 0; round < 5; ++round) {
        sleep_ms(work_ms() / 15.0);
        ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr);
        expect_equal("event", wait_for(child) >> 16, PTRACE_EVENT_STOP);
        ptrace(PTRACE_CONT, child, nullptr, nullptr);
    }
    expect_equal("stop", WSTOPSIG(wait_for(child)), SIGUSR1);
    ptrace(PTRACE_CONT, child, nullptr, SIGUSR1);
    expect_equal("event", wait_for(child) >> 16, PTRACE_EVENT_EXIT);
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    expect_equal("died of", WTERMSIG(wait_for(child)), SIGUSR1);
}

void strict() {
    pid_t child = child_of([] {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        for (unsigned i = 0; i < 120; ++i)
            if (!computed_right(300'000)) syscall(SYS_exit, 1);
        syscall(SYS_exit, 4);
        return 0;
    });
    int status = wait_for(child);
    expect(WIFEXITED(status), "not killed");
    expect_equal("status", WEXITSTATUS(status), 4);
}

/// Installs a filter that allows everything but the calls that make processes, for which it has `action`.
void forbid_forks(uint32_t action, unsigned flags, int* listener = nullptr) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    std::vector<sock_filter> program;
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (int number : {SYS_clone, SYS_clone3,
#ifdef SYS_fork
                       SYS_fork, SYS_vfork
#endif
         }) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    long result = must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter), "seccomp");
    if (listener) *listener = static_cast<int>(result);
}

void killed_if_it_forks() {
    pid_t child = child_of([] {
        forbid_forks(SECCOMP_RET_KILL_PROCESS, 0);
        busy(work_ms());
        return 4;
    });
    int status = wait_for(child);
    expect(WIFEXITED(status), "not killed");
    expect_equal("status", WEXITSTATUS(status), 4);
}

volatile sig_atomic_t trapped;

void trapped_if_it_forks() {
    handle(SIGSYS, [](int, siginfo_t*, void*) { trapped = trapped + 1; });
    forbid_forks(SECCOMP_RET_TRAP, 0);
    busy(work_ms());
    expect_equal("trapped calls", trapped, 0);
}

/// A supervisor that is asked about each fork of its child is asked about none.
void notified_of_forks() {
    auto* stop = shared<std::atomic<bool>>();
    auto* asked = shared<std::atomic<int>>();
    pid_t child = child_of([=] {
        int listener = -1;
        std::atomic<int> ready{-1};
        std::thread supervisor([&] {
            while (ready < 0) sched_yield();
            while (!*stop) {
                pollfd waiting{ready, POLLIN, 0};
                if (poll(&waiting, 1, 10) <= 0) continue;
                seccomp_notif request{};
                if (ioctl(ready, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) continue;
                ++*asked;
                seccomp_notif_resp answer{};
                answer.id = request.id;
                answer.error = -EPERM;
                ioctl(ready, SECCOMP_IOCTL_NOTIF_SEND, &answer);
            }
        });
        forbid_forks(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER, &listener);
        ready = listener;
        busy(work_ms());
        *stop = true;
        supervisor.join();
        return 0;
    });
    expect_equal("status", WEXITSTATUS(wait_for(child)), 0);
    expect_equal("asked about forks", *asked, 0);
}

void not_dumpable() {
    prctl(PR_SET_DUMPABLE, 0);
    for (Span span; span.lasts();) {
        busy(5);
        if (!expect_equal("dumpable", prctl(PR_GET_DUMPABLE), 0)) return;
    }
}

/// Reads its child's memory while it computes; /proc/PID/mem and process_vm_readv are open to it.
void reads_its_child() {
    static volatile long secret = 0x5eed;
    pid_t child = child_of([] {
        busy(work_ms());
        return secret == 0x5eed ? 0 : 1;
    });
    for (Span span(work_ms() * 0.8); span.lasts();) {
        long copy = 0;
        iovec local{&copy, sizeof copy}, remote{const_cast<long*>(&secret), sizeof copy};
        if (!expect_equal("bytes", process_vm_readv(child, &local, 1, &remote, 1, 0), sizeof copy)) break;
        if (!expect_equal("value", copy, 0x5eed)) break;
        busy(2);
    }
    expect_equal("status", WEXITSTATUS(wait_for(child)), 0);
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"looks_for_a_tracer", looks_for_a_tracer},
        {"asks_to_be_traced", asks_to_be_traced},
        {"asks_before_exec", asks_before_exec},
#ifdef __x86_64__
        {"breakpoints", breakpoints},
        {"counted_calls", counted_calls},
#endif
        {"attaches", attaches},
        {"seizes", seizes},
        {"strict", strict},
        {"killed_if_it_forks", killed_if_it_forks},
        {"trapped_if_it_forks", trapped_if_it_forks},
        {"notified_of_forks", notified_of_forks},
        {"not_dumpable", not_dumpable},
        {"reads_its_child", reads_its_child},
    };
    return run_named(cases, argc, argv);
}
