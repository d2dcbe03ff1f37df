// Signals that carry something: values, senders, order; and the calls that take them.
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

std::atomic<long long> sum, received, wrong;

void blocked(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

/// 3,000 values from each of two threads to a third: none lost, none changed.
void between_threads() {
    constexpr int kValues = 3000;
    handle(SIGRTMIN, [](int, siginfo_t* info, void*) {
        if (info->si_code != SI_QUEUE || info->si_value.sival_int <= 0) ++wrong;
        sum += info->si_value.sival_int;
        ++received;
    });
    std::atomic<bool> done{false};
    std::thread target([&] {
        while (!done) busy(0.05);
    });
    auto send = [&](int from) {
        for (int i = 0; i < kValues; ++i) {
            while (pthread_sigqueue(target.native_handle(), SIGRTMIN, sigval{from + i}) != 0) sched_yield();
            if (i % 10 == 0) busy(work_ms() / (kValues / 10.0));
        }
    };
    std::thread first([&] { send(1); });
    std::thread second([&] { send(1'000'000); });
    first.join();
    second.join();
    while (received < 2 * kValues) sleep_ms(1);
    done = true;
    target.join();
    expect_equal("received", received, 2 * kValues);
    expect_equal("sum", sum, 2LL * kValues * (kValues - 1) / 2 + kValues + 1'000'000LL * kValues);
    expect_equal("wrong", wrong, 0);
}

volatile sig_atomic_t last_value;

/// Values queued to another process, in their order.
void between_processes() {
    constexpr int kValues = 2000;
    auto* ready = shared<std::atomic<int>>();
    pid_t child = child_of([=] {
        handle(SIGRTMIN + 3, [](int, siginfo_t* info, void*) {
            if (info->si_value.sival_int != last_value + 1 || info->si_pid != getppid()) ++wrong;
            last_value = info->si_value.sival_int;
        });
        *ready = 1;
        while (last_value < kValues) busy(0.05);
        return wrong == 0 ? 0 : 1;
    });
    while (*ready == 0) sleep_ms(1);
    for (int i = 1; i <= kValues; ++i) {
        while (sigqueue(child, SIGRTMIN + 3, sigval{i}) != 0) sched_yield();
        if (i % 10 == 0) busy(work_ms() / (kValues / 10.0));
    }
    expect_equal("status of the receiver", WEXITSTATUS(wait_for(child)), 0);
}

void by_descriptor() {
    blocked(SIGRTMIN + 4);
    blocked(SIGUSR1);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 4);
    sigaddset(&set, SIGUSR1);
    int fd = must(signalfd(-1, &set, 0), "signalfd");
    pid_t parent = getpid();
    std::atomic<long long> sent{0};
    std::atomic<bool> done{false};
    std::thread sender([&] {
        for (Span span; span.lasts();) {
            if (sigqueue(parent, SIGRTMIN + 4, sigval{static_cast<int>(++sent)}) != 0) --sent;
            busy(0.2);
        }
        done = true;
        kill(parent, SIGUSR1);
    });
    long long got = 0, out_of_order = 0;
    for (;;) {
        signalfd_siginfo info{};
        ssize_t bytes = read(fd, &info, sizeof info);
        if (bytes < 0) {
            expect(false, "read(2) of a signalfd goes through");
            break;
        }
        if (info.ssi_signo == static_cast<unsigned>(SIGUSR1)) {
            if (!done) expect(false, "the last signal comes last");
            break;
        }
        if (info.ssi_int != ++got) ++out_of_order;
    }
    sender.join();
    // SIGUSR1 has a lower number than those queued and may be read before them.
    pollfd waiting{fd, POLLIN, 0};
    while (poll(&waiting, 1, 0) == 1) {
        signalfd_siginfo info{};
        if (read(fd, &info, sizeof info) > 0 && info.ssi_int != ++got) ++out_of_order;
    }
    expect_equal("received", got, sent);
    expect_equal("out of order", out_of_order, 0);
}

void waited_for() {
    blocked(SIGRTMIN + 5);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 5);
    pid_t child = child_of([] {
        int failed = 0;
        for (Span span; span.lasts();) {
            if (sigqueue(getppid(), SIGRTMIN + 5, sigval{42}) != 0) ++failed;
            busy(0.3);
        }
        sigqueue(getppid(), SIGRTMIN + 5, sigval{43});
        return failed;
    });
    long long others = 0, interrupted = 0;
    for (;;) {
        siginfo_t info{};
        if (sigwaitinfo(&set, &info) < 0) {
            ++interrupted;
            continue;
        }
        if (info.si_value.sival_int == 43) break;
        if (info.si_value.sival_int != 42 || info.si_pid != child) ++others;
    }
    expect_equal("wrong", others, 0);
    expect_equal("interrupted", interrupted, 0);
    expect_equal("status", WEXITSTATUS(wait_for(child)), 0);
}

siginfo_t seen;
volatile sig_atomic_t seen_count;

/// Who sent it and how, of each way to send.
void senders() {
    for (int signal : {SIGUSR1, SIGUSR2, SIGHUP, SIGCHLD})
        handle(signal, [](int, siginfo_t* info, void*) {
            seen = *info;
            seen_count = seen_count + 1;
        });
    for (Span span; span.lasts();) {
        int before = seen_count;
        busy(1);
        kill(getpid(), SIGUSR1);
        if (!expect_equal("code of kill", seen.si_code, SI_USER) || !expect_equal("pid", seen.si_pid, getpid())) return;
        syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2);
        if (!expect_equal("code of tgkill", seen.si_code, SI_TKILL)) return;
        sigqueue(getpid(), SIGHUP, sigval{17});
        if (!expect_equal("code of sigqueue", seen.si_code, SI_QUEUE)) return;
        if (!expect_equal("value", seen.si_value.sival_int, 17)) return;
        if (!expect_equal("handlers", seen_count - before, 3)) return;
        pid_t child = child_of([] { return 3; });
        wait_for(child);
        if (!expect_equal("code of a child", seen.si_code, CLD_EXITED) || !expect_equal("its pid", seen.si_pid, child))
            return;
        if (!expect_equal("its status", seen.si_status, 3) || !expect_equal("handlers", seen_count - before, 4)) return;
    }
}

/// A blocked signal is pending once, and handled once when it is let through.
void pending() {
    handle(SIGUSR1, [](int, siginfo_t*, void*) { seen_count = seen_count + 1; });
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    int rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        sigprocmask(SIG_BLOCK, &set, &old);
        kill(getpid(), SIGUSR1);
        kill(getpid(), SIGUSR1);
        busy(2);
        sigset_t now;
        sigpending(&now);
        if (!expect(sigismember(&now, SIGUSR1) == 1, "it is pending")) return;
        if (!expect_equal("handled while blocked", seen_count, rounds)) return;
        sigprocmask(SIG_SETMASK, &old, nullptr);
    }
    expect_equal("handled", seen_count, rounds);
}

/// Parent and child wake each other by signals alone; one lost, and both wait for ever.
void ping_pong() {
    blocked(SIGUSR1);
    sigset_t none;
    sigemptyset(&none);
    handle(SIGUSR1, [](int, siginfo_t*, void*) { seen_count = seen_count + 1; });
    constexpr int kRounds = 1000;
    pid_t child = child_of([&] {
        for (int i = 0; i < kRounds; ++i) {
            sigsuspend(&none);
            busy(work_ms() / (2.0 * kRounds));
            kill(getppid(), SIGUSR1);
        }
        return seen_count == kRounds ? 0 : 1;
    });
    for (int i = 0; i < kRounds; ++i) {
        busy(work_ms() / (2.0 * kRounds));
        kill(child, SIGUSR1);
        sigsuspend(&none);
    }
    expect_equal("handled", seen_count, kRounds);
    expect_equal("status of the child", WEXITSTATUS(wait_for(child)), 0);
}

void handler_flags() {
    int rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        handle(SIGUSR1, [](int, siginfo_t*, void*) { seen_count = seen_count + 1; }, SA_RESETHAND);
        busy(1);
        raise(SIGUSR1);
        struct sigaction now{};
        sigaction(SIGUSR1, nullptr, &now);
        if (!expect(now.sa_handler == SIG_DFL, "the handler was reset")) return;
        handle(
            SIGUSR2,
            [](int depth, siginfo_t*, void*) {
                seen_count = seen_count + 1;
                if (seen_count % 4 != 0) raise(depth);
            },
            SA_NODEFER);
        raise(SIGUSR2);
    }
    expect(seen_count >= rounds * 2, "handled");
}

/// Handlers on another stack that are interrupted again, while the program computes.
void alternate_stack() {
    static char memory[1 << 16];
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    must(sigaltstack(&stack, nullptr), "sigaltstack");
    handle(
        SIGUSR1,
        [](int, siginfo_t*, void*) {
            char here = 0;
            if (&here < memory || &here >= memory + sizeof memory) ++wrong;
            seen_count = seen_count + 1;
            raise(SIGUSR2);
        },
        SA_ONSTACK);
    handle(
        SIGUSR2,
        [](int, siginfo_t*, void*) {
            busy(0.05);
            seen_count = seen_count + 1;
        },
        SA_ONSTACK);
    int rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        if (!expect(computed_right(20000), "computed right")) return;
        raise(SIGUSR1);
    }
    expect_equal("handled", seen_count, 2LL * rounds);
    expect_equal("off the stack", wrong, 0);
}

/// Real-time signals come in the order of their numbers, and each as often as it was sent.
void in_order() {
    static std::vector<int> order;
    order.reserve(1000);
    for (int i = 0; i < 5; ++i)
        handle(SIGRTMIN + i, [](int signal, siginfo_t*, void*) { order.push_back(signal - SIGRTMIN); });
    sigset_t all, old;
    sigfillset(&all);
    for (Span span; span.lasts();) {
        order.clear();
        sigprocmask(SIG_BLOCK, &all, &old);
        for (int signal : {3, 1, 4, 1, 0, 2, 4, 3}) raise(SIGRTMIN + signal);
        busy(1);
        sigprocmask(SIG_SETMASK, &old, nullptr);
        // Frames are pushed in the order of the numbers, so that the last one pushed runs first.
        const std::vector<int> expected{4, 4, 3, 3, 2, 1, 1, 0};
        if (!expect(order == expected, "order")) return;
    }
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"between_threads", between_threads},
        {"between_processes", between_processes},
        {"by_descriptor", by_descriptor},
        {"waited_for", waited_for},
        {"senders", senders},
        {"pending", pending},
        {"ping_pong", ping_pong},
        {"handler_flags", handler_flags},
        {"alternate_stack", alternate_stack},
        {"in_order", in_order},
    };
    return run_named(cases, argc, argv);
}
