#include "trace/waiting_input.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <sstream>

#include "base/fd.h"
#include "base/file.h"

namespace tmaprobe::trace {
namespace {

constexpr std::size_t most_sockets = 128;
constexpr std::size_t most_bytes = 64 << 10;  ///< of one socket

int option_of(int socket, int option, int otherwise) {
    int value = 0;
    socklen_t bytes = sizeof value;
    return ::getsockopt(socket, SOL_SOCKET, option, &value, &bytes) == 0 ? value : otherwise;
}

/// A connected stream; no place in it is kept for those who peek.
bool can_be_peeked_at(int socket) {
    constexpr int none_kept = -1;
    const int domain = option_of(socket, SO_DOMAIN, -1);
    return option_of(socket, SO_TYPE, -1) == SOCK_STREAM && option_of(socket, SO_ACCEPTCONN, 1) == 0 &&
           (domain == AF_UNIX || domain == AF_INET || domain == AF_INET6) &&
           option_of(socket, SO_PEEK_OFF, none_kept) == none_kept;
}

SocketInput peek(int descriptor, int socket, short state) {
    SocketInput input{descriptor, {}, false, (state & POLLRDHUP) != 0, (state & POLLOUT) != 0, true};
    input.blocks = (::fcntl(socket, F_GETFL) & O_NONBLOCK) == 0;
    int there = 0;
    if (::ioctl(socket, SIOCINQ, &there) != 0) return input;
    if (there > 0) {
        input.bytes.resize(std::min<std::size_t>(static_cast<std::size_t>(there), most_bytes));
        // Only where something is there: without it, a read would be told of an error, and the program not any more.
        const ssize_t got = ::recv(socket, input.bytes.data(), input.bytes.size(), MSG_PEEK | MSG_DONTWAIT);
        input.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    }
    input.whole = input.bytes.size() == static_cast<std::size_t>(std::max(0, there));
    return input;
}

void add_entries(pid_t process, int epoll, std::vector<EpollEntry>& entries) {
    const auto text = read_file("/proc/" + std::to_string(process) + "/fdinfo/" + std::to_string(epoll));
    std::istringstream lines(text ? *text : std::string());
    std::string line;
    while (std::getline(lines, line)) {
        EpollEntry entry{epoll};
        unsigned long long data = 0;
        if (std::sscanf(line.c_str(), "tfd: %d events: %x data: %llx", &entry.descriptor, &entry.events, &data) != 3)
            continue;
        entry.data = data;
        entries.push_back(entry);
    }
}

}  // namespace

WaitingInput waiting_input(pid_t process, const InputDescriptors& descriptors) {
    WaitingInput input;
    if (descriptors.sockets.empty()) return input;
    const Fd target(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (!target) return input;
    std::vector<Fd> sockets;
    std::vector<pollfd> states;
    for (const int descriptor : descriptors.sockets) {
        if (sockets.size() >= most_sockets) break;
        Fd socket(static_cast<int>(::syscall(SYS_pidfd_getfd, target.get(), descriptor, 0)));
        if (!socket || !can_be_peeked_at(socket.get())) continue;
        states.push_back({socket.get(), POLLIN | POLLOUT | POLLRDHUP, 0});
        sockets.push_back(std::move(socket));
        input.sockets.emplace_back().descriptor = descriptor;
    }
    if (::poll(states.data(), states.size(), 0) < 0) return {};
    for (std::size_t i = 0; i < sockets.size(); ++i)
        if (!(states[i].revents & (POLLERR | POLLNVAL)))
            input.sockets[i] = peek(input.sockets[i].descriptor, sockets[i].get(), states[i].revents);
    std::erase_if(input.sockets, [](const SocketInput& socket) { return !socket.whole && socket.bytes.empty(); });
    for (const int epoll : descriptors.epolls) add_entries(process, epoll, input.epoll_entries);
    return input;
}

}  // namespace tmaprobe::trace
