#include "experiments/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"

namespace tmaprobe::experiments {
namespace {

std::string describe_end(int status) {
    if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
    return fmt::format("exit status {}", WEXITSTATUS(status));
}

/// A failure as the child sends it: a first line tells it from a record.
std::string encode(const Error& error) {
    return fmt::format("error\n{}\n{}\n{}", static_cast<int>(error.code), error.what, error.hint);
}

Result<record::Record> decode(const std::string& text, const std::string& how) {
    if (text.starts_with("error\n")) {
        const auto code_end = text.find('\n', 6);
        const auto what_end = text.find('\n', code_end + 1);
        if (what_end != std::string::npos)
            return fail(static_cast<ErrorCode>(text[6] - '0'), text.substr(code_end + 1, what_end - code_end - 1),
                        text.substr(what_end + 1));
    }
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) return fail(ErrorCode::system, "the measuring process died: " + how);
    return record::from_json(json);
}

}  // namespace

Result<Child> Child::start(const std::function<void(int)>& body) {
    int go[2], output[2];
    if (::pipe2(go, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    Fd go_read(go[0]), go_write(go[1]);
    if (::pipe2(output, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    Fd output_read(output[0]), output_write(output[1]);

    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "cannot start a process");
    if (pid == 0) {
        // A process group of its own: Ctrl-C reaches the parent alone, which decides what it means, and
        // what a command starts ends with it.
        ::setpgid(0, 0);
        ::signal(SIGTERM, SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        go_write.close();
        output_read.close();
        char byte = 0;
        if (::getppid() == parent && ::read(go_read.get(), &byte, 1) == 1) body(output_write.get());
        ::_exit(0);
    }
    ::setpgid(pid, pid);  // whoever comes first
    Child child;
    child.pid_ = pid;
    child.go_ = std::move(go_write);
    child.output_ = std::move(output_read);
    return child;
}

Child::Child(Child&& other) noexcept { *this = std::move(other); }

Child& Child::operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(go_, other.go_);
    std::swap(output_, other.output_);
    std::swap(how_, other.how_);
    return *this;
}

Child::~Child() {
    if (pid_ <= 0 || !alive()) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void Child::release() {
    const char byte = 1;
    if (::write(go_.get(), &byte, 1) == 1) go_.close();
}

bool Child::alive() {
    if (!how_.empty()) return false;
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != pid_) return true;
    // While it is not reaped its number is not given to others: only its own descendants can be hit.
    ::kill(-pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    how_ = describe_end(status);
    return false;
}

Result<record::Record> measure_in_child(const std::function<Result<record::Record>()>& measure,
                                        const std::function<Result<>(pid_t)>& before_release,
                                        const std::function<bool()>& interrupted,
                                        const std::function<void()>& on_tick) {
    auto child = Child::start([&](int output) {
        const auto record = measure();
        const std::string text = record ? record::serialize(*record) : encode(record.error());
        static_cast<void>(write_descriptor(output, text, "the parent's pipe"));
    });
    if (!child) return pass_on(child);
    const auto prepared = before_release(child->pid());
    if (!prepared) return pass_on(prepared);
    child->release();

    std::string text;
    char buffer[65536];
    constexpr int look_up_ms = 20;
    for (;;) {
        if (interrupted && interrupted()) return fail(ErrorCode::interrupted, "interrupted");
        pollfd ready{child->output(), POLLIN, 0};
        if (::poll(&ready, 1, look_up_ms) <= 0) {
            if (on_tick) on_tick();
            continue;
        }
        const ssize_t got = ::read(child->output(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(buffer, static_cast<std::size_t>(got));
    }
    while (child->alive()) ::usleep(200);
    return decode(text, child->how());
}

}  // namespace tmaprobe::experiments
