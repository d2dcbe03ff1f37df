#include "trace/copy_input.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace tmaprobe::trace {

CopyInput::CopyInput(WaitingInput input) {
    for (SocketInput& socket : input.sockets) {
        const int descriptor = socket.descriptor;
        sockets_[descriptor] = {std::move(socket), 0};
    }
    for (const EpollEntry& entry : input.epoll_entries)
        watched_[{entry.epoll, entry.descriptor}] = {entry.events, entry.data};
}

std::optional<std::int64_t> CopyInput::read(const TracedProcess& copy, int descriptor, const std::vector<Piece>& pieces,
                                            int flags) {
    constexpr int most_in_a_row = 1000;  // of a program that asks again and again
    constexpr int known_flags = MSG_PEEK | MSG_DONTWAIT | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC;
    const auto found = sockets_.find(descriptor);
    if (found == sockets_.end() || (flags & ~known_flags)) return std::nullopt;
    auto& [input, taken] = found->second;
    if (taken == input.bytes.size()) {
        if (!input.whole || ++told_nothing_ > most_in_a_row) return std::nullopt;
        if (input.ended) return 0;
        if (input.blocks && !(flags & MSG_DONTWAIT)) return std::nullopt;
        return -EAGAIN;
    }
    told_nothing_ = 0;
    std::size_t done = 0;
    for (const Piece& piece : pieces) {
        const std::size_t bytes = std::min<std::size_t>(piece.bytes, input.bytes.size() - taken - done);
        if (bytes && !copy.write(piece.address, input.bytes.data() + taken + done, bytes)) return -EFAULT;
        done += bytes;
    }
    if (!(flags & MSG_PEEK)) taken += done;
    return static_cast<std::int64_t>(done);
}

std::uint32_t CopyInput::ready_events(int descriptor, std::uint32_t wanted) const {
    const auto found = sockets_.find(descriptor);
    if (found == sockets_.end()) return 0;
    const auto& [input, taken] = found->second;
    const bool something = taken < input.bytes.size() || input.ended;
    std::uint32_t ready = 0;
    if (something) ready |= EPOLLIN | EPOLLRDNORM;
    if (input.ended) ready |= EPOLLRDHUP;
    // By edges it has been told already that there is room, and is told again with what else happens.
    if (input.writable && (something || !(wanted & EPOLLET))) ready |= EPOLLOUT | EPOLLWRNORM;
    return ready & wanted;
}

std::optional<std::int64_t> CopyInput::wait(const TracedProcess& copy, int epoll, std::uint64_t events_at, int most) {
    std::vector<epoll_event> events;
    for (auto& [key, watch] : watched_) {
        if (key.first != epoll || static_cast<int>(events.size()) >= most) continue;
        const std::uint32_t ready = ready_events(key.second, watch.events);
        if (!ready) continue;
        epoll_event event{};
        event.events = ready;
        event.data.u64 = watch.data;
        events.push_back(event);
        constexpr std::uint32_t how = EPOLLET | EPOLLONESHOT | EPOLLWAKEUP | EPOLLEXCLUSIVE;
        if (watch.events & EPOLLONESHOT) watch.events &= how;  // until it is asked for again
    }
    if (events.empty()) return std::nullopt;
    if (!copy.write(events_at, events.data(), events.size() * sizeof(epoll_event))) return -EFAULT;
    return static_cast<std::int64_t>(events.size());
}

std::optional<std::int64_t> CopyInput::control(const TracedProcess& copy, int epoll, int operation, int descriptor,
                                               std::uint64_t event_at) {
    const std::pair key{epoll, descriptor};
    const bool there = watched_.contains(key);
    if (operation == EPOLL_CTL_DEL && there) {
        watched_.erase(key);
        return 0;
    }
    epoll_event event{};
    const bool changes = (operation == EPOLL_CTL_MOD && there) || (operation == EPOLL_CTL_ADD && !there);
    if (!changes || !knows(descriptor) || copy.read(event_at, &event, sizeof event) != sizeof event)
        return std::nullopt;
    watched_[key] = {event.events, event.data.u64};
    return 0;
}

bool CopyInput::close(int descriptor) {
    std::erase_if(watched_, [&](const auto& entry) { return entry.first.second == descriptor; });
    return sockets_.erase(descriptor) > 0;
}

}  // namespace tmaprobe::trace
