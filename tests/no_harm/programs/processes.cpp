// Children and what a parent knows of them: every kind of end, waiting, groups and sessions, daemons, limits.
#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

void no_core() {
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

/// Children that end by each signal that ends one, and with each exit status.
void every_end() {
    for (int signal = 1; signal < 65; ++signal) {
        if (signal == 32 || signal == 33) continue;  // the C library's own
        if (signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH) continue;  // end nothing
        if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) continue;
        int status = wait_for(child_of([=] {
            no_core();
            ::signal(signal, SIG_DFL);
            busy(5);
            raise(signal);
            return 111;
        }));
        printf("signal %d: %s %d\n", signal, WIFSIGNALED(status) ? "died of" : "exited with",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    for (int wanted = 0; wanted < 256; wanted += 5)
        expect_equal("exit status", WEXITSTATUS(wait_for(child_of([=] {
                         busy(2);
                         return wanted;
                     }))),
                     wanted);
}

void chains_of_vfork() {
    fflush(stdout);
    for (Span span; span.lasts();) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "/bin/sh -c 'exec /bin/sh -c \"exit 23\"'", nullptr);
            _exit(99);
        }
        if (!expect_equal("status", WEXITSTATUS(wait_for(child)), 23)) return;
        busy(1);
    }
}

void thousands() {
    constexpr int kChildren = 2000;
    long long sum = 0;
    for (int i = 0; i < kChildren; ++i) {
        if (i % 10 == 0) busy(work_ms() / 400.0);
        sum += WEXITSTATUS(wait_for(child_of([=] { return i % 100; })));
    }
    expect_equal("sum of statuses", sum, kChildren / 100 * 4950LL);
}

/// Waits for any child, of any kind: those that were made here come, and nobody else.
void counted(int flags) {
    long long made = 0, others = 0;
    for (Span span; span.lasts();) {
        pid_t child = child_of([] {
            busy(4);
            return 0;
        });
        ++made;
        busy(2);
        for (;;) {
            pid_t who = waitpid(-1, nullptr, flags);
            if (who < 0) break;
            if (who != child) ++others;
        }
        if (!expect_equal("errno", errno, ECHILD)) return;
    }
    expect_equal("children that nobody made", others, 0);
}

void waits_for_any() { counted(0); }
void waits_for_all_kinds() { counted(__WALL); }

/// One thread waits for any child of any kind while another computes and makes the children.
void another_thread_waits() {
    std::atomic<long long> made{0}, taken{0}, strangers{0};
    std::atomic<bool> done{false};
    std::atomic<pid_t> expected{0};
    std::thread waiter([&] {
        while (!done) {
            pid_t who = waitpid(-1, nullptr, __WALL);
            if (who < 0) {
                sched_yield();
                continue;
            }
            while (expected == 0 && !done) sched_yield();
            if (who != expected)
                ++strangers;
            else
                expected = 0, ++taken;
        }
    });
    for (Span span; span.lasts();) {
        expected = child_of([] {
            busy(10);
            return 0;
        });
        ++made;
        busy(6);
        while (taken < made && strangers == 0) sched_yield();
        if (strangers > 0) break;
    }
    done = true;
    waiter.join();
    expect_equal("children that nobody made", strangers, 0);
}

/// Has no child, and hears so at all times.
void childless() {
    long long others = 0, rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        busy(0.5);
        for (int flags : {WNOHANG, WNOHANG | static_cast<int>(__WALL), WNOHANG | static_cast<int>(__WCLONE)})
            if (waitpid(-1, nullptr, flags) != -1 || errno != ECHILD) ++others;
    }
    rusage children{};
    getrusage(RUSAGE_CHILDREN, &children);
    expect_equal("children that nobody made", others, 0);
    expect_equal("their faults", children.ru_minflt, 0);
    const timeval &user = children.ru_utime, &system = children.ru_stime;
    expect_equal("their time, us", (user.tv_sec + system.tv_sec) * 1'000'000 + user.tv_usec + system.tv_usec, 0);
}

/// What `pgrep -P` and `ps` see: a process without children has none.
void lists_its_children() {
    std::string path = "/proc/self/task/" + std::to_string(getpid()) + "/children";
    for (Span span; span.lasts();) {
        busy(1);
        std::ifstream file(path);
        std::string children;
        std::getline(file, children);
        if (!expect(children.empty(), "no children are listed")) return;
    }
}

void usage_of_children() {
    for (Span span; span.lasts();) {
        rusage before{}, after{}, own{};
        getrusage(RUSAGE_CHILDREN, &before);
        pid_t child = child_of([] {
            busy(30);
            return 0;
        });
        if (wait4(child, nullptr, 0, &own) != child) fail("wait4");
        getrusage(RUSAGE_CHILDREN, &after);
        auto us = [](const rusage& usage) {
            return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec +
                   usage.ru_stime.tv_usec;
        };
        // Each of the two clocks that are summed up may be rounded by a microsecond.
        if (!expect(std::llabs(us(after) - us(before) - us(own)) <= 4, "the child's time is all that is added")) return;
        if (!expect(us(own) < 60'000, "the child was charged for its own work only")) return;
    }
}

void groups_and_sessions() {
    for (Span span; span.lasts();) {
        int ends[2];
        must(pipe(ends), "pipe");
        pid_t child = child_of([&] {
            if (setsid() != getpid()) return 1;
            pid_t member = child_of([] {
                busy(5);
                return getpgrp() == getppid() && getsid(0) == getppid() ? 0 : 1;
            });
            busy(5);
            int status = wait_for(member);
            must(write(ends[1], "x", 1), "write");
            return WEXITSTATUS(status) == 0 && getsid(0) == getpid() && getpgrp() == getpid() ? 0 : 2;
        });
        char byte;
        must(read(ends[0], &byte, 1), "read");
        if (!expect_equal("status", WEXITSTATUS(wait_for(child)), 0)) return;
        close(ends[0]), close(ends[1]);
    }
}

/// Kills its own process group, which dies of it whole; nobody else's does.
void kills_its_group() {
    for (Span span; span.lasts();) {
        pid_t child = child_of([] {
            setpgid(0, 0);
            for (int i = 0; i < 3; ++i)
                child_of([] {
                    for (;;) busy(1);
                    return 0;
                });
            busy(10);
            kill(0, SIGKILL);
            return 0;
        });
        int status = wait_for(child);
        if (!expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "died of SIGKILL")) return;
    }
}

/// Leaves a daemon behind, which works for a while longer and writes a file.
void daemon_left_behind() {
    busy(work_ms() / 2.0);
    pid_t child = child_of([] {
        setsid();
        pid_t daemon = fork();
        if (daemon != 0) return daemon > 0 ? 0 : 1;
        int null = open("/dev/null", O_RDWR);
        for (int fd : {0, 1, 2}) dup2(null, fd);
        busy(work_ms());
        std::ofstream("daemon.txt") << "the daemon's work is done\n";
        return 0;
    });
    expect_equal("status", WEXITSTATUS(wait_for(child)), 0);
}

/// The name of the process that orphans fall to: whoever reaps them in this session, and no stranger.
void orphan() {
    int ends[2];
    must(pipe(ends), "pipe");
    wait_for(child_of([&] {
        pid_t middle = getpid();
        child_of([=] {
            while (getppid() == middle) busy(1);
            std::string name;
            std::getline(std::ifstream("/proc/" + std::to_string(getppid()) + "/comm") >> std::ws, name);
            must(write(ends[1], name.data(), name.size()), "write");
            return 0;
        });
        busy(20);
        return 0;
    }));
    close(ends[1]);
    char name[64] = {};
    must(read(ends[0], name, sizeof name - 1), "read");
    printf("the orphan's new parent is %s\n", name);
}

void subreaper() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (Span span; span.lasts();) {
        pid_t middle = child_of([] {
            child_of([] {
                busy(8);
                return 17;
            });
            return 3;
        });
        if (!expect_equal("status of the child", WEXITSTATUS(wait_for(middle)), 3)) return;
        int status = 0;
        pid_t orphan = waitpid(-1, &status, 0);
        if (!expect(orphan > 0, "the orphan came here") || !expect_equal("its status", WEXITSTATUS(status), 17)) return;
        if (!expect(waitpid(-1, nullptr, 0) == -1 && errno == ECHILD, "nobody else came")) return;
    }
}

volatile sig_atomic_t told;

/// A child is told of its parent's death when the parent dies, and not before.
void death_signal() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (Span span; span.lasts();) {
        wait_for(child_of([] {
            int ready[2];
            must(pipe(ready), "pipe");
            child_of([&] {
                pid_t parent = getppid();
                handle(SIGUSR1, [](int, siginfo_t*, void*) { told = told + 1; });
                prctl(PR_SET_PDEATHSIG, SIGUSR1);
                must(write(ready[1], "", 1), "write");
                while (getppid() == parent) {
                    busy(1);
                    if (told && getppid() == parent) return 1;
                }
                for (int i = 0; i < 200 && !told; ++i) sleep_ms(1);
                return told == 1 ? 0 : 2;
            });
            char byte = 0;
            must(read(ready[0], &byte, 1), "read");
            busy(15);
            return 0;
        }));
        int status = 0;
        must(waitpid(-1, &status, 0), "waitpid");
        if (!expect_equal("status of the orphan", WEXITSTATUS(status), 0)) return;
    }
}

void by_descriptor() {
    for (Span span; span.lasts();) {
        pid_t child = child_of([] {
            busy(8);
            return 21;
        });
        int fd = static_cast<int>(must(syscall(SYS_pidfd_open, child, 0), "pidfd_open"));
        pollfd ready{fd, POLLIN, 0};
        if (!expect_equal("poll", poll(&ready, 1, 10000), 1)) return;
        siginfo_t info{};
        must(waitid(static_cast<idtype_t>(3) /* P_PIDFD */, static_cast<id_t>(fd), &info, WEXITED), "waitid");
        if (!expect_equal("status", info.si_status, 21)) return;
        close(fd);
    }
}

void namespaces() {
    pid_t child = child_of([] {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 77;
        pid_t first = must(fork(), "fork");
        if (first == 0) {
            int wrong = getpid() == 1 ? 0 : 1;
            for (Span span; span.lasts();)
                wrong += WEXITSTATUS(wait_for(child_of([=] {
                    busy(10);
                    return getpid() > 1 && getppid() == 1 ? 0 : 1;
                })));
            _exit(wrong);
        }
        return WEXITSTATUS(wait_for(first));
    });
    int status = WEXITSTATUS(wait_for(child));
    if (status == 77) skip("no user or process namespaces here");
    expect_equal("wrong pids", status, 0);
}

/// A watchdog kills a child that is too slow; the child is, by far.
void watchdog() {
    for (Span span; span.lasts();) {
        pid_t child = child_of([] {
            for (;;) busy(1);
            return 0;
        });
        sleep_ms(30);
        kill(child, SIGKILL);
        int status = wait_for(child);
        if (!expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed")) return;
        if (!expect(kill(child, 0) == -1 && errno == ESRCH, "gone")) return;
    }
}

void replaces_itself() {
    const char* said = getenv("NO_HARM_ROUND");
    int round = said ? atoi(said) : 0;
    busy(work_ms() / 20.0);
    if (round == 20) {
        const bool same = getpid() == atoi(getenv("NO_HARM_PID"));
        printf("executed itself %d times as one process: %s\n", round, same ? "yes" : "no");
        return;
    }
    setenv("NO_HARM_ROUND", std::to_string(round + 1).c_str(), 1);
    setenv("NO_HARM_PID", std::to_string(getpid()).c_str(), 0);
    execl("/proc/self/exe", "processes", "replaces_itself", nullptr);
    fail("execl");
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"every_end", every_end},
        {"chains_of_vfork", chains_of_vfork},
        {"thousands", thousands},
        {"waits_for_any", waits_for_any},
        {"waits_for_all_kinds", waits_for_all_kinds},
        {"another_thread_waits", another_thread_waits},
        {"childless", childless},
        {"lists_its_children", lists_its_children},
        {"usage_of_children", usage_of_children},
        {"groups_and_sessions", groups_and_sessions},
        {"kills_its_group", kills_its_group},
        {"daemon_left_behind", daemon_left_behind},
        {"orphan", orphan},
        {"subreaper", subreaper},
        {"death_signal", death_signal},
        {"by_descriptor", by_descriptor},
        {"namespaces", namespaces},
        {"watchdog", watchdog},
        {"replaces_itself", replaces_itself},
    };
    return run_named(cases, argc, argv);
}
