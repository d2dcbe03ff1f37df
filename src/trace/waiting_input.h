#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tmaprobe::trace {

/// A stream socket, and what had come to it without being read yet.
struct SocketInput {
    int descriptor = -1;
    std::string bytes;
    bool whole = false;     ///< `bytes` is all that was there
    bool ended = false;     ///< and the other side sends no more
    bool writable = false;  ///< there was room to send
    bool blocks = true;     ///< a read of it waits while nothing is there
};

/// What an epoll descriptor was asked to watch.
struct EpollEntry {
    int epoll = -1, descriptor = -1;
    std::uint32_t events = 0;
    std::uint64_t data = 0;  ///< the program's own
};

/// What a program would be told next by those whom it serves.
struct WaitingInput {
    std::vector<SocketInput> sockets;
    std::vector<EpollEntry> epoll_entries;
};

/// Which of a process's descriptors to ask.
struct InputDescriptors {
    std::vector<int> sockets, epolls;
};

/// To be asked while the process is stopped: what has come to it and is still to be read. It stays there (MSG_PEEK).
/// More sockets than a hundred or so are left out, and so is what cannot be looked at without a trace: datagrams,
/// sockets with an error to be told.
WaitingInput waiting_input(pid_t process, const InputDescriptors& descriptors);

}  // namespace tmaprobe::trace
