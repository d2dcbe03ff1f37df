#include "process/held_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace tmaprobe::process {

Result<HeldChild> HeldChild::start(const std::function<void()>& body, Life life) {
    int ends[2];
    // A socket, because writing to the pipe of a child that was killed would kill us too (SIGPIPE).
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_errno(errno, "cannot make a socket pair");
    Fd go(ends[0]);
    HeldChild child;
    child.go_ = Fd(ends[1]);
    const pid_t parent = ::getpid();
    child.pid_ = ::fork();
    if (child.pid_ < 0) return fail_errno(errno, "cannot fork");
    if (child.pid_ > 0) return child;
    child.go_.close();  // else the child would never see the end of its own socket
    if (life == Life::ours) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (life == Life::ours && ::getppid() != parent) ::_exit(1);
    char byte = 0;
    ssize_t got = 0;
    do got = ::read(go.get(), &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1) ::_exit(127);  // our parent is gone, or gave up
    body();
    ::_exit(0);
}

Result<> HeldChild::release() {
    const char byte = 1;
    if (::send(go_.get(), &byte, 1, MSG_NOSIGNAL) != 1) return fail_errno(errno, "cannot start a process");
    go_.close();
    return {};
}

}  // namespace tmaprobe::process
