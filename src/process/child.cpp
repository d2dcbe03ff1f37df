#include "process/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "base/file.h"
#include "base/process_end.h"

namespace tmaprobe::process {
namespace {

std::string describe_end(int status) {
    if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
    return fmt::format("exit status {}", WEXITSTATUS(status));
}

/// Kills and reaps children until there are none. Orphans of what is killed become children of a subreaper,
/// so that all descendants are gone in the end; gives up on what cannot be killed.
void end_descendants() {
    const std::string list = fmt::format("/proc/self/task/{}/children", ::getpid());
    constexpr int most_tries = 10'000;
    for (int tries = 0; tries < most_tries; ++tries) {
        std::istringstream children(read_line(list));
        for (pid_t pid = 0; children >> pid;) ::kill(pid, SIGKILL);
        const pid_t reaped = ::waitpid(-1, nullptr, WNOHANG);
        if (reaped < 0 && errno == ECHILD) return;
        if (reaped == 0) ::usleep(500);
    }
}

/// Ends as the child did, for whoever waits.
[[noreturn]] void end_as(int status) {
    if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
    ::prctl(PR_SET_DUMPABLE, 0);  // it has dumped its core, if anyone wanted one
    ::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
    ::_exit(128 + WTERMSIG(status));
}

/// In the supervisor: runs `work` in a child, says its pid through `hello`, and waits until it ends or `life`
/// is closed at its other end. `for_child` are descriptors that only the child needs.
[[noreturn]] void supervise(int life, Fd& hello, const std::function<void()>& work,
                            std::initializer_list<Fd*> for_child) {
    // Ctrl-C reaches tmaprobe alone, which decides what it means.
    ::setpgid(0, 0);
    for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(ignored, SIG_IGN);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t supervisor = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        ::setpgid(0, 0);
        for (const int restored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(restored, SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        hello.close();
        if (::getppid() == supervisor) work();
        ::_exit(0);
    }
    if (child < 0) ::_exit(1);
    for (Fd* theirs : for_child) theirs->close();
    static_cast<void>(!::write(hello.get(), &child, sizeof child));
    hello.close();
    const Fd ended = end_of_process(child);
    int status = 0;
    for (;;) {
        // Kernels before 5.3 have no such descriptor: then it is looked for from time to time.
        pollfd events[]{{life, POLLIN, 0}, {ended.get(), POLLIN, 0}};
        ::poll(events, 2, ended ? -1 : 20);
        siginfo_t gone{};
        if (events[0].revents == 0 &&
            (::waitid(P_PID, static_cast<id_t>(child), &gone, WEXITED | WNOHANG | WNOWAIT) != 0 ||
             gone.si_pid != child))
            continue;
        // Its group's number is not given to others while the child is not reaped.
        ::kill(child, SIGKILL);
        ::kill(-child, SIGKILL);
        ::waitpid(child, &status, 0);
        break;
    }
    end_descendants();
    end_as(status);
}

}  // namespace

Result<Child> Child::start(const std::function<void(int)>& body) {
    int go[2], output[2], life[2], hello[2];
    for (int* ends : {go, output, life, hello})
        if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    Fd go_read(go[0]), go_write(go[1]), output_read(output[0]), output_write(output[1]);
    Fd life_read(life[0]), life_write(life[1]), hello_read(hello[0]), hello_write(hello[1]);

    const pid_t supervisor = ::fork();
    if (supervisor < 0) return fail_errno(errno, "cannot start a process");
    if (supervisor == 0) {
        for (Fd* ours : {&go_write, &output_read, &life_write, &hello_read}) ours->close();
        supervise(life_read.get(), hello_write,
                  [&] {
                      char byte = 0;
                      life_read.close();
                      if (::read(go_read.get(), &byte, 1) == 1) body(output_write.get());
                  },
                  {&go_read, &output_write});
    }
    Child child;
    child.supervisor_ = supervisor;
    child.go_ = std::move(go_write);
    child.output_ = std::move(output_read);
    child.life_ = std::move(life_write);
    hello_write.close();
    if (::read(hello_read.get(), &child.pid_, sizeof child.pid_) != sizeof child.pid_)
        return fail(ErrorCode::system, "cannot start a process");
    return child;
}

Child::Child(Child&& other) noexcept { *this = std::move(other); }

Child& Child::operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(supervisor_, other.supervisor_);
    std::swap(go_, other.go_);
    std::swap(output_, other.output_);
    std::swap(life_, other.life_);
    std::swap(how_, other.how_);
    return *this;
}

Child::~Child() {
    if (supervisor_ <= 0 || !how_.empty()) return;
    life_.close();
    while (::waitpid(supervisor_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Child::release() {
    const char byte = 1;
    if (::write(go_.get(), &byte, 1) == 1) go_.close();
}

bool Child::alive() {
    if (!how_.empty()) return false;
    int status = 0;
    if (::waitpid(supervisor_, &status, WNOHANG) != supervisor_) return true;
    how_ = describe_end(status);
    return false;
}

}  // namespace tmaprobe::process
