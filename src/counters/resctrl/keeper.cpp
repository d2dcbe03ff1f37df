#include "counters/resctrl/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <utility>

#include "counters/resctrl/group.h"

namespace tmaprobe::counters::resctrl {
namespace {

/// Waits for the end of `made_by` with nothing of it held open but the pipe, and cleans up after it.
[[noreturn]] void keep(int life, const std::filesystem::path& root, pid_t made_by) {
    ::setsid();
    for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(ignored, SIG_IGN);
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) ::dup2(nowhere, standard);
    constexpr int pipe = 3;
    ::dup2(life, pipe);
    ::syscall(SYS_close_range, pipe + 1, ~0U, 0);
    char byte = 0;
    while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
    }
    constexpr int most_tries = 100;
    for (int tries = 0; tries < most_tries && !remove_groups_of(root, made_by); ++tries) ::usleep(10'000);
    ::_exit(0);
}

}  // namespace

Result<Keeper> Keeper::start(const std::filesystem::path& root) {
    int life[2];
    if (::pipe2(life, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    Fd read_end(life[0]), write_end(life[1]);
    const pid_t made_by = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "cannot start a process");
    if (pid == 0) {
        write_end.close();
        keep(read_end.get(), root, made_by);
    }
    Keeper keeper;
    keeper.pid_ = pid;
    keeper.life_ = std::move(write_end);
    return keeper;
}

Keeper::Keeper(Keeper&& other) noexcept { *this = std::move(other); }

Keeper& Keeper::operator=(Keeper&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(life_, other.life_);
    return *this;
}

Keeper::~Keeper() {
    if (pid_ <= 0) return;
    life_.close();
    ::waitpid(pid_, nullptr, 0);
}

}  // namespace tmaprobe::counters::resctrl
