// Stopped by SIGSTOP and its relatives, and seen to be: by a parent, by itself, whole groups, several threads.
#include <sys/prctl.h>

#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

void expect_stopped(pid_t child, int by) {
    int status = 0;
    must(waitpid(child, &status, WUNTRACED), "waitpid");
    expect(WIFSTOPPED(status), "the child is stopped");
    expect_equal("stopped by", WIFSTOPPED(status) ? WSTOPSIG(status) : 0, by);
}

void expect_continued(pid_t child) {
    kill(child, SIGCONT);
    int status = 0;
    must(waitpid(child, &status, WCONTINUED), "waitpid");
    expect(WIFCONTINUED(status), "the child goes on");
}

void by_itself() {
    constexpr int kRounds = 20;
    pid_t child = child_of([] {
        for (int round = 0; round < kRounds; ++round) {
            busy(work_ms() / kRounds);
            raise(SIGSTOP);
        }
        return 7;
    });
    for (int round = 0; round < kRounds; ++round) {
        expect_stopped(child, SIGSTOP);
        expect_continued(child);
    }
    expect_equal("exit status", WEXITSTATUS(wait_for(child)), 7);
}

/// A child that counts in shared memory does not count while it is stopped.
void by_another() {
    auto* count = shared<std::atomic<uint64_t>>();
    pid_t child = child_of([=] {
        for (;;) ++*count;
        return 0;
    });
    for (Span span; span.lasts();) {
        busy(10);
        kill(child, SIGSTOP);
        expect_stopped(child, SIGSTOP);
        uint64_t before = *count;
        sleep_ms(20);
        if (!expect_equal("counted while stopped", static_cast<long long>(*count - before), 0)) break;
        expect_continued(child);
        while (*count == before) sched_yield();
    }
    kill(child, SIGKILL);
    expect(WIFSIGNALED(wait_for(child)), "killed");
}

void by_each_stop_signal() {
    for (int signal : {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
        pid_t child = child_of([] {
            setpgid(0, 0);
            busy(work_ms() * 0.4);
            return 3;
        });
        setpgid(child, child);
        sleep_ms(20);
        kill(child, signal);
        // The stop signals of a terminal do not stop an orphaned process group; this one has a parent in our session.
        expect_stopped(child, signal);
        sleep_ms(20);
        expect_continued(child);
        expect_equal("exit status", WEXITSTATUS(wait_for(child)), 3);
    }
}

void group() {
    pid_t members[3];
    for (pid_t& member : members) {
        member = child_of([] {
            sleep_ms(30);  // until the group is complete
            busy(work_ms());
            return 5;
        });
        setpgid(member, members[0]);
    }
    sleep_ms(60);
    killpg(members[0], SIGSTOP);
    for (pid_t member : members) expect_stopped(member, SIGSTOP);
    sleep_ms(30);
    killpg(members[0], SIGCONT);
    for (pid_t member : members) expect_equal("exit status", WEXITSTATUS(wait_for(member)), 5);
}

volatile sig_atomic_t continued;

void continue_handler() {
    constexpr int kRounds = 10;
    pid_t child = child_of([] {
        handle(SIGCONT, [](int, siginfo_t*, void*) { continued = continued + 1; });
        for (int round = 0; round < kRounds; ++round) {
            busy(work_ms() / kRounds);
            raise(SIGSTOP);
        }
        return static_cast<int>(continued);
    });
    for (int round = 0; round < kRounds; ++round) {
        expect_stopped(child, SIGSTOP);
        expect_continued(child);
    }
    expect_equal("continue handlers", WEXITSTATUS(wait_for(child)), kRounds);
}

void killed_while_stopped() {
    for (Span span; span.lasts();) {
        pid_t child = child_of([] {
            for (;;) busy(1);
            return 0;
        });
        sleep_ms(10);
        kill(child, SIGSTOP);
        expect_stopped(child, SIGSTOP);
        kill(child, SIGKILL);
        int status = wait_for(child);
        if (!expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "died of SIGKILL")) return;
    }
}

void all_threads() {
    struct Counts {
        std::atomic<uint64_t> of[3];
    };
    auto* counts = shared<Counts>();
    pid_t child = child_of([=] {
        std::vector<std::thread> threads;
        for (auto& count : counts->of)
            threads.emplace_back([&count] {
                for (;;) ++count;
            });
        threads[0].join();
        return 0;
    });
    while (counts->of[0] == 0 || counts->of[1] == 0 || counts->of[2] == 0) sleep_ms(1);
    for (Span span; span.lasts();) {
        sleep_ms(15);
        kill(child, SIGSTOP);
        expect_stopped(child, SIGSTOP);
        uint64_t before = counts->of[0] + counts->of[1] + counts->of[2];
        sleep_ms(15);
        uint64_t after = counts->of[0] + counts->of[1] + counts->of[2];
        if (!expect_equal("counted while stopped", static_cast<long long>(after - before), 0)) break;
        expect_continued(child);
    }
    kill(child, SIGKILL);
    wait_for(child);
}

/// What a parent hears of its child is what happened to it: with WNOHANG in a loop nothing else is ever reported.
void nothing_else_reported() {
    pid_t child = child_of([] {
        busy(work_ms());
        return 9;
    });
    int reports = 0;
    for (;;) {
        int status = 0;
        pid_t who = waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (who == child && ++reports && (WIFEXITED(status) || WIFSIGNALED(status))) {
            expect_equal("exit status", WEXITSTATUS(status), 9);
            break;
        }
        sleep_ms(0.5);
    }
    expect_equal("reports", reports, 1);
}

volatile sig_atomic_t child_signals;
volatile sig_atomic_t child_codes[8];

/// SIGCHLD with its codes: one for a stop, one for a continue, one for an exit.
void child_signals_of_stops() {
    handle(SIGCHLD, [](int, siginfo_t* info, void*) {
        child_signals = child_signals + 1;
        if (info->si_code > 0 && info->si_code < 8) child_codes[info->si_code] = child_codes[info->si_code] + 1;
    });
    pid_t child = child_of([] {
        busy(work_ms());
        return 4;
    });
    sleep_ms(50);
    // A child that is stopped before it has run again never tells that it was continued.
    for (int round = 1; round <= 3; ++round) {
        kill(child, SIGSTOP);
        expect_stopped(child, SIGSTOP);
        for (Span patience(10'000); child_codes[CLD_STOPPED] < round && patience.lasts();) sleep_ms(1);
        expect_continued(child);
        for (Span patience(10'000); child_codes[CLD_CONTINUED] < round && patience.lasts();) sleep_ms(1);
    }
    expect_equal("exit status", WEXITSTATUS(wait_for(child)), 4);
    expect_equal("stopped", child_codes[CLD_STOPPED], 3);
    expect_equal("continued", child_codes[CLD_CONTINUED], 3);
    expect_equal("exited", child_codes[CLD_EXITED], 1);
    expect_equal("all", child_signals, 7);
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"by_itself", by_itself},
        {"by_another", by_another},
        {"by_each_stop_signal", by_each_stop_signal},
        {"group", group},
        {"continue_handler", continue_handler},
        {"killed_while_stopped", killed_while_stopped},
        {"all_threads", all_threads},
        {"nothing_else_reported", nothing_else_reported},
        {"child_signals_of_stops", child_signals_of_stops},
    };
    return run_named(cases, argc, argv);
}
