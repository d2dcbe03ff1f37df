// Processes for the tests of --pid and of bad input; the first argument says which. Each prints "ready PID" when it is
// as its name says, and goes on until it is killed or for as long as $NO_HARM_MS says.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <string>
#include <string_view>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

void ready(pid_t who) {
    printf("ready %d\n", who);
    fflush(stdout);
}

void computing() {
    ready(getpid());
    busy(work_ms());
}

void sleeping() {
    ready(getpid());
    sleep_ms(work_ms());
}

void zombie() {
    pid_t child = child_of([] { return 0; });
    siginfo_t info{};
    must(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), "waitid");
    ready(child);
    sleep_ms(work_ms());
}

void stopped() {
    pid_t child = child_of([] {
        raise(SIGSTOP);
        busy(work_ms());
        return 0;
    });
    waitpid(child, nullptr, WUNTRACED);
    ready(child);
    sleep_ms(work_ms());
    kill(child, SIGKILL);
    wait_for(child);
}

/// A child under a debugger that lets it run.
void traced() {
    pid_t child = child_of([] {
        busy(work_ms());
        return 0;
    });
    must(ptrace(PTRACE_SEIZE, child, nullptr, nullptr), "PTRACE_SEIZE");
    ready(child);
    wait_for(child);
}

void replacing_itself() {
    const char* said = getenv("NO_HARM_ROUND");
    const int round = said ? atoi(said) : 0;
    if (round == 0) ready(getpid());
    busy(work_ms() / 10.0);
    if (round == 10) return;
    setenv("NO_HARM_ROUND", std::to_string(round + 1).c_str(), 1);
    execl("/proc/self/exe", "targets", "replacing_itself", nullptr);
    fail("execl");
}

void ten_thousand_threads() {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16 << 10);
    int made = 0;
    for (; made < 10'000; ++made) {
        pthread_t thread;
        auto body = [](void*) -> void* {
            for (;;) pause();
            return nullptr;
        };
        if (pthread_create(&thread, &small, body, nullptr) != 0) break;
    }
    if (made < 10'000) skip("10,000 threads cannot be made here");
    ready(getpid());
    busy(work_ms());
    printf("%d threads waited\n", made);
    fflush(stdout);
    _exit(0);
}

void allow_what_is_not_refused(std::vector<int> numbers) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    std::vector<sock_filter> program;
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (int number : numbers) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "PR_SET_SECCOMP");
}

/// Runs the command that follows where these calls are refused to it and to all that it starts, as in containers.
[[noreturn]] void refused(std::vector<int> numbers, char** command) {
    allow_what_is_not_refused(std::move(numbers));
    execvp(command[0], command);
    fail("execvp");
}

/// Runs the command that follows as a user of its own that may have so many processes.
[[noreturn]] void with_few_processes(char** arguments) {
    const auto most = static_cast<rlim_t>(atoi(arguments[0]));
    rlimit limit{most, most};
    must(setrlimit(RLIMIT_NPROC, &limit), "setrlimit");
    const uid_t user = 40000 + static_cast<uid_t>(getpid()) % 10000;
    must(setresgid(user, user, user), "setresgid");
    must(setresuid(user, user, user), "setresuid");
    execvp(arguments[1], arguments + 1);
    fail("execvp");
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"computing", computing},
        {"sleeping", sleeping},
        {"zombie", zombie},
        {"stopped", stopped},
        {"traced", traced},
        {"replacing_itself", replacing_itself},
        {"ten_thousand_threads", ten_thousand_threads},
    };
    const std::string_view name = argc > 1 ? argv[1] : "";
    if (name == "without_ptrace" && argc > 2) refused({SYS_ptrace}, argv + 2);
    if (name == "without_perf" && argc > 2) refused({SYS_perf_event_open}, argv + 2);
    if (name == "without_pidfd" && argc > 2) refused({SYS_pidfd_open, SYS_pidfd_getfd}, argv + 2);
    if (name == "without_memory" && argc > 2) refused({SYS_process_vm_readv, SYS_process_vm_writev}, argv + 2);
    if (name == "with_processes" && argc > 3) with_few_processes(argv + 2);
    return run_named(cases, argc, argv);
}
