#include "model/windows_beside.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/file.h"
#include "model/sampled_windows.h"

namespace tmaprobe::model {
namespace {

constexpr int came_to_an_end = 0, has_an_error = 1;

/// In the fork. Nothing of this process is cleaned up by it, whatever happens: copies, files and traces are its
/// parent's.
[[noreturn]] void answer(const std::function<Result<WindowBeside>()>& simulate, int fd) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto simulated = simulate();
    const std::string text = simulated ? to_text(*simulated) : simulated.error().what;
    const auto wrote = write_descriptor(fd, text, "the answer");
    ::_exit(simulated && wrote ? came_to_an_end : has_an_error);
}

}  // namespace

WindowsBeside::~WindowsBeside() {
    for (const Fork& fork : forks_) {
        if (fork.process <= 0) continue;
        ::kill(fork.process, SIGKILL);
        ::waitpid(fork.process, nullptr, 0);
    }
}

unsigned WindowsBeside::running() {
    unsigned count = 0;
    for (const Fork& fork : forks_) {
        if (fork.process <= 0) continue;
        siginfo_t ended{};
        // It stays to be waited for by take(), who asks how it ended.
        ::waitid(P_PID, static_cast<id_t>(fork.process), &ended, WEXITED | WNOHANG | WNOWAIT);
        if (ended.si_pid == 0) ++count;
    }
    return count;
}

std::optional<std::uint32_t> WindowsBeside::begin(const std::function<Result<WindowBeside>()>& simulate) {
    if (at_a_time_ == 0 || running() >= at_a_time_) return std::nullopt;
    Fd file(::memfd_create("tmaprobe window", MFD_CLOEXEC));
    if (!file) return std::nullopt;
    const pid_t process = ::fork();
    if (process < 0) return std::nullopt;
    if (process == 0) answer(simulate, file.get());
    forks_.push_back({process, std::move(file)});
    return static_cast<std::uint32_t>(forks_.size() - 1);
}

Result<WindowBeside> WindowsBeside::take(std::uint32_t number) {
    Fork& fork = forks_[number];
    int status = 0;
    const bool waited = fork.process > 0 && ::waitpid(fork.process, &status, 0) == fork.process;
    fork.process = -1;
    const Fd file = std::move(fork.answer);
    if (!waited || !WIFEXITED(status)) return fail(ErrorCode::system, "a window's simulation came to no end", "");
    const std::string text = TRY(read_file("/proc/self/fd/" + std::to_string(file.get())));
    if (WEXITSTATUS(status) != came_to_an_end) return fail(ErrorCode::system, text, "");
    return window_from_text(text);
}

}  // namespace tmaprobe::model
