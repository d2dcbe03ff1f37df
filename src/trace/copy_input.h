#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "trace/traced_process.h"
#include "trace/waiting_input.h"

namespace tmaprobe::trace {

/// Where a system call puts what it reads.
struct Piece {
    std::uint64_t address = 0, bytes = 0;
};

/// Answers a copy's reads of sockets, and its waits for them, with what had come until it was made: it serves what the
/// original has to serve, as if nothing more came.
class CopyInput {
  public:
    explicit CopyInput(WaitingInput input);

    /// Of a read: bytes, 0 at the end, or -EAGAIN; nothing where that is not known, or would be waited for.
    std::optional<std::int64_t> read(const TracedProcess& copy, int descriptor, const std::vector<Piece>& pieces,
                                     int flags);
    /// Of an epoll_wait for at most so many events; nothing: it would wait.
    std::optional<std::int64_t> wait(const TracedProcess& copy, int epoll, std::uint64_t events_at, int most);
    /// Of an epoll_ctl.
    std::optional<std::int64_t> control(const TracedProcess& copy, int epoll, int operation, int descriptor,
                                        std::uint64_t event_at);
    /// False: it is none of the sockets.
    bool close(int descriptor);
    bool knows(int descriptor) const { return sockets_.contains(descriptor); }

  private:
    struct Socket {
        SocketInput input;
        std::size_t taken = 0;
    };
    struct Watch {
        std::uint32_t events = 0;
        std::uint64_t data = 0;
    };
    std::uint32_t ready_events(int descriptor, std::uint32_t wanted) const;

    std::map<int, Socket> sockets_;
    std::map<std::pair<int, int>, Watch> watched_;  ///< by epoll descriptor and what it watches
    int told_nothing_ = 0;                          ///< reads in a row that found nothing
};

}  // namespace tmaprobe::trace
