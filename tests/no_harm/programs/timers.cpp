// Interval timers, POSIX timers with values, alarms: each expiry once, to the right process and thread.
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include <thread>

#include "case.h"

using namespace no_harm;

namespace {

volatile sig_atomic_t count;
volatile sig_atomic_t wrong;

void counting(int, siginfo_t*, void*) { count = count + 1; }

void interval(int which, int signal) {
    handle(signal, counting);
    itimerval every{{0, 4000}, {0, 4000}};
    must(setitimer(which, &every, nullptr), "setitimer");
    const int wanted = work_ms() / 8;
    while (count < wanted) busy(0.3);
    itimerval off{};
    setitimer(which, &off, nullptr);
    expect(count >= wanted, "all expiries came");
}

void real_interval() { interval(ITIMER_REAL, SIGALRM); }
void virtual_interval() { interval(ITIMER_VIRTUAL, SIGVTALRM); }
void profile_interval() { interval(ITIMER_PROF, SIGPROF); }

/// A single shot, armed again and again: exactly one signal each.
void one_shots() {
    handle(SIGALRM, counting);
    int armed = 0;
    for (Span span; span.lasts(); ++armed) {
        itimerval once{{0, 0}, {0, 1500}};
        setitimer(ITIMER_REAL, &once, nullptr);
        while (count == armed) busy(0.1);
        busy(0.5);
    }
    expect_equal("expiries", count, armed);
}

volatile sig_atomic_t next_value;

/// Each timer carries a value; a signal without it, or with another's, is wrong.
void with_values() {
    constexpr int kTimers = 4;
    handle(SIGRTMIN + 1, [](int, siginfo_t* info, void*) {
        count = count + 1;
        if (info->si_code != SI_TIMER || info->si_value.sival_int != next_value) wrong = wrong + 1;
    });
    timer_t timers[kTimers];
    for (int i = 0; i < kTimers; ++i) {
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGRTMIN + 1;
        event.sigev_value.sival_int = 1000 + i;
        must(timer_create(CLOCK_MONOTONIC, &event, &timers[i]), "timer_create");
    }
    int armed = 0;
    for (Span span; span.lasts(); ++armed) {
        next_value = 1000 + armed % kTimers;
        itimerspec once{{0, 0}, {0, 700'000}};
        timer_settime(timers[armed % kTimers], 0, &once, nullptr);
        while (count == armed) busy(0.1);
    }
    expect_equal("expiries", count, armed);
    expect_equal("with a wrong value or code", wrong, 0);
}

thread_local bool is_the_target;

void to_a_thread() {
    handle(SIGRTMIN + 2, [](int, siginfo_t* info, void*) {
        count = count + 1;
        if (!is_the_target || info->si_value.sival_int != 77) wrong = wrong + 1;
    });
    std::atomic<bool> done{false};
    std::thread bystander([&] {
        while (!done) busy(1);
    });
    std::thread target([&] {
        is_the_target = true;
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGRTMIN + 2;
        event.sigev_value.sival_int = 77;
        event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
        timer_t timer;
        must(timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
        int armed = 0;
        for (Span span; span.lasts(); ++armed) {
            itimerspec once{{0, 0}, {0, 500'000}};
            timer_settime(timer, 0, &once, nullptr);
            while (count == armed) busy(0.1);
        }
        expect_equal("expiries", count, armed);
    });
    target.join();
    done = true;
    bystander.join();
    expect_equal("in the wrong thread or without its value", wrong, 0);
}

void processor_time() {
    handle(SIGRTMIN, [](int, siginfo_t* info, void*) {
        count = count + 1;
        if (info->si_value.sival_int != 5) wrong = wrong + 1;
    });
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    event.sigev_value.sival_int = 5;
    timer_t timer;
    must(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer), "timer_create");
    int armed = 0;
    for (Span span; span.lasts(); ++armed) {
        itimerspec once{{0, 0}, {0, 5'000'000}};
        timer_settime(timer, 0, &once, nullptr);
        while (count == armed) busy(0.2);
    }
    expect_equal("expiries", count, armed);
    expect_equal("without their value", wrong, 0);
}

void notifying_threads() {
    static std::atomic<int> called, values;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_value.sival_int = 3;
    event.sigev_notify_function = [](sigval value) {
        values += value.sival_int;
        ++called;
    };
    timer_t timer;
    must(timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
    int armed = 0;
    for (Span span; span.lasts(); ++armed) {
        itimerspec once{{0, 0}, {0, 500'000}};
        timer_settime(timer, 0, &once, nullptr);
        while (called == armed) busy(0.2);
    }
    expect_equal("calls", called, armed);
    expect_equal("values", values, 3LL * armed);
}

/// A child's alarm ends the child by SIGALRM, not its parent.
void alarm_of_a_child() {
    handle(SIGALRM, counting);
    for (Span span; span.lasts();) {
        pid_t child = child_of([] {
            signal(SIGALRM, SIG_DFL);
            itimerval once{{0, 0}, {0, 20'000}};
            setitimer(ITIMER_REAL, &once, nullptr);
            for (;;) busy(1);
            return 0;
        });
        int status = wait_for(child);
        if (!expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM, "died of SIGALRM")) return;
    }
    expect_equal("alarms of the parent", count, 0);
}

/// For shells: works, then dies of its own alarm (status 142).
void dies_of_alarm() {
    itimerval once{{0, 0}, {0, work_ms() * 1000}};
    setitimer(ITIMER_REAL, &once, nullptr);
    for (;;) busy(1);
}

void descriptor() {
    int fd = must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
    int rounds = 0;
    long long expiries = 0;
    for (Span span; span.lasts(); ++rounds) {
        itimerspec once{{0, 0}, {0, 1'000'000}};
        timerfd_settime(fd, 0, &once, nullptr);
        busy(0.5);
        uint64_t expired = 0;
        if (!expect_equal("bytes read", read(fd, &expired, sizeof expired), 8)) return;
        expiries += static_cast<long long>(expired);
    }
    expect_equal("expiries", expiries, rounds);
}

/// Sleeps that nothing interrupts are not interrupted, and are not short.
void sleeps() {
    std::atomic<bool> done{false};
    std::thread worker([&] {
        while (!done) busy(1);
    });
    int interrupted = 0, shorter = 0;
    for (Span span; span.lasts();) {
        double before = seconds_now();
        timespec wanted{0, 3'000'000}, left{};
        if (nanosleep(&wanted, &left) != 0) ++interrupted;
        if (clock_nanosleep(CLOCK_MONOTONIC, 0, &wanted, &left) != 0) ++interrupted;
        if (seconds_now() - before < 0.006) ++shorter;
    }
    done = true;
    worker.join();
    expect_equal("interrupted", interrupted, 0);
    expect_equal("too short", shorter, 0);
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"real_interval", real_interval},
        {"virtual_interval", virtual_interval},
        {"profile_interval", profile_interval},
        {"one_shots", one_shots},
        {"with_values", with_values},
        {"to_a_thread", to_a_thread},
        {"processor_time", processor_time},
        {"notifying_threads", notifying_threads},
        {"alarm_of_a_child", alarm_of_a_child},
        {"dies_of_alarm", dies_of_alarm},
        {"descriptor", descriptor},
        {"sleeps", sleeps},
    };
    return run_named(cases, argc, argv);
}
