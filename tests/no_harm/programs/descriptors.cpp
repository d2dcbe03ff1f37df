// What else holds a file, a pipe, a lock or a port is seen by others: when the owner lets go of it, it is free at once.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

/// The last writer is gone: the reader sees the end, not an empty pipe.
void end_of_a_pipe() {
    for (Span span; span.lasts();) {
        int ends[2];
        must(pipe2(ends, O_NONBLOCK), "pipe2");
        wait_for(child_of([&] {
            busy(8);
            must(write(ends[1], "x", 1), "write");
            return 0;
        }));
        close(ends[1]);
        char bytes[8];
        if (!expect_equal("first read", read(ends[0], bytes, 8), 1)) return;
        if (!expect_equal("second read", read(ends[0], bytes, 8), 0)) return;
        close(ends[0]);
    }
}

/// The last reader is gone: the writer is told at once.
void broken_pipe() {
    signal(SIGPIPE, SIG_IGN);
    for (Span span; span.lasts();) {
        int ends[2];
        must(pipe(ends), "pipe");
        pid_t reader = child_of([&] {
            busy(8);
            return 0;
        });
        close(ends[0]);
        wait_for(reader);
        if (!expect(write(ends[1], "x", 1) == -1 && errno == EPIPE, "nobody reads any more")) return;
        close(ends[1]);
    }
}

void end_of_a_socket() {
    for (Span span; span.lasts();) {
        int ends[2];
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), "socketpair");
        pid_t peer = child_of([&] {
            busy(8);
            return 0;
        });
        close(ends[1]);
        wait_for(peer);
        char byte;
        if (!expect_equal("read", read(ends[0], &byte, 1), 0)) return;
        close(ends[0]);
    }
}

/// Whoever closes a locked file gives the lock back; the next one has it at once.
void released(int (*lock)(int fd)) {
    for (Span span; span.lasts();) {
        wait_for(child_of([&] {
            int fd = must(open("locked", O_CREAT | O_RDWR, 0600), "open");
            if (lock(fd) != 0) return 1;
            busy(8);
            return 0;
        }));
        int fd = must(open("locked", O_RDWR), "open");
        bool had = lock(fd) == 0;
        busy(1);
        close(fd);
        int again = must(open("locked", O_RDWR), "open");
        had = had && lock(again) == 0;
        close(again);
        if (!expect(had, "the lock is free when its owner has closed the file")) return;
    }
}

int whole_file(int fd, int command) {
    struct flock range{};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    return fcntl(fd, command, &range);
}

void bsd_locks() {
    released([](int fd) { return flock(fd, LOCK_EX | LOCK_NB); });
}
void open_file_locks() {
    released([](int fd) { return whole_file(fd, F_OFD_SETLK); });
}
void posix_locks() {
    released([](int fd) { return whole_file(fd, F_SETLK); });
}

/// A POSIX lock is the process's: it stays while the process works, whatever others close.
void posix_lock_stays() {
    int fd = must(open("locked", O_CREAT | O_RDWR, 0600), "open");
    must(whole_file(fd, F_SETLK), "fcntl");
    for (Span span; span.lasts();) {
        busy(5);
        int status = wait_for(child_of([] {
            int other = must(open("locked", O_RDWR), "open");
            return whole_file(other, F_SETLK) == -1 && (errno == EAGAIN || errno == EACCES) ? 0 : 1;
        }));
        if (!expect_equal("status of who wants it", status, 0)) return;
    }
}

/// A program that was just written can be executed: nobody else has it open for writing.
void executes_what_it_wrote() {
    std::ifstream source("/bin/true", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(source)), {});
    for (Span span; span.lasts();) {
        int fd = must(open("written", O_CREAT | O_WRONLY | O_TRUNC, 0700), "open");
        busy(2);
        must(write(fd, bytes.data(), bytes.size()), "write");
        busy(2);
        close(fd);
        int status = wait_for(child_of([] {
            execl("./written", "written", nullptr);
            return errno == ETXTBSY ? 26 : 1;
        }));
        if (!expect_equal("status of what was written", WEXITSTATUS(status), 0)) return;
        unlink("written");
    }
}

/// A port is free again when its listener is closed.
void port_again() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (Span span; span.lasts();) {
        int listener = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        const bool bound = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
        if (!expect(bound, "the port is free")) return;
        must(listen(listener, 4), "listen");
        socklen_t size = sizeof address;
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
        busy(4);
        close(listener);
    }
}

/// A memory file can be sealed once its writable mapping is gone.
void sealed_memory() {
    long long refused = 0;
    for (Span span; span.lasts();) {
        int fd = must(memfd_create("sealed", MFD_ALLOW_SEALING | MFD_CLOEXEC), "memfd_create");
        must(ftruncate(fd, 65536), "ftruncate");
        void* memory = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        memset(memory, 1, 65536);
        busy(1);
        munmap(memory, 65536);
        refused += fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) != 0;
        close(fd);
    }
    expect_equal("refused", refused, 0);
}

/// Who watches a file sees what was done to it, and no more.
void file_events() {
    int watch = must(inotify_init1(IN_NONBLOCK), "inotify_init1");
    std::ofstream("seen") << "x";
    must(inotify_add_watch(watch, "seen", IN_ALL_EVENTS), "inotify_add_watch");
    int fd = must(open("seen", O_RDWR), "open");
    char byte;
    must(read(fd, &byte, 1), "read");
    long long events = 0, writes = 0;
    auto drain = [&] {
        alignas(inotify_event) char buffer[4096];
        for (ssize_t bytes; (bytes = read(watch, buffer, sizeof buffer)) > 0;)
            for (char* at = buffer; at < buffer + bytes;) {
                auto* event = reinterpret_cast<inotify_event*>(at);
                ++events;
                at += sizeof(inotify_event) + event->len;
            }
    };
    drain();
    events = 0;
    for (Span span; span.lasts(); ++writes) {
        busy(2);
        must(pwrite(fd, "y", 1, 0), "pwrite");
        drain();
    }
    expect_equal("events", events, writes);
    close(fd);
    drain();
    expect_equal("with the close", events, writes + 1);
}

/// The position in a file is shared with nobody who moves it.
void file_position() {
    int fd = must(open("position", O_CREAT | O_RDWR | O_TRUNC, 0600), "open");
    long long written = 0;
    for (Span span; span.lasts(); ++written) {
        busy(0.5);
        char line[32];
        int bytes = snprintf(line, sizeof line, "%06lld\n", written % 1'000'000);
        must(write(fd, line, static_cast<size_t>(bytes)), "write");
        if (!expect_equal("position", lseek(fd, 0, SEEK_CUR), (written + 1) * 7)) return;
    }
    must(ftruncate(fd, 0), "ftruncate");
}

/// An output file through a shared mapping: in it is what was written, each byte once.
void mapped_output() {
    constexpr size_t kBytes = 1 << 20;
    int fd = must(open("mapped", O_CREAT | O_RDWR | O_TRUNC, 0600), "open");
    must(ftruncate(fd, kBytes), "ftruncate");
    auto* memory = static_cast<unsigned char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    for (size_t i = 0; i < kBytes; ++i) {
        memory[i] = static_cast<unsigned char>(memory[i] + (i * 31 >> 3) + 1);
        if (i % (kBytes / 200) == 0) busy(work_ms() / 200.0);
    }
    must(msync(memory, kBytes, MS_SYNC), "msync");
    munmap(memory, kBytes);
}

void epoll_and_eventfd() {
    int event = must(eventfd(0, EFD_NONBLOCK), "eventfd");
    int set = must(epoll_create1(0), "epoll_create1");
    epoll_event wanted{EPOLLIN | EPOLLET, {}};
    must(epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted), "epoll_ctl");
    std::atomic<bool> done{false};
    std::atomic<long long> sum{0}, sent{0};
    std::thread receiver([&] {
        while (!done || sum < sent) {
            epoll_event ready;
            if (epoll_wait(set, &ready, 1, 5) < 0) expect(false, "waiting is not interrupted");
            uint64_t value = 0;
            if (read(event, &value, sizeof value) == 8) sum += static_cast<long long>(value);
        }
    });
    for (Span span; span.lasts();) {
        busy(0.1);
        uint64_t three = 3;
        sent += 3;
        must(write(event, &three, sizeof three), "write");
    }
    done = true;
    receiver.join();
    expect_equal("sum", sum, sent);
}

struct Rings {
    int fd = -1;
    io_uring_params params{};
    char* submissions = nullptr;
    char* completions = nullptr;
    io_uring_sqe* entries = nullptr;
};

Rings rings() {
    Rings made;
    made.fd = static_cast<int>(syscall(SYS_io_uring_setup, 8, &made.params));
    if (made.fd < 0) skip("no io_uring here");
    auto map = [&](size_t bytes, off_t offset) {
        return static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, offset));
    };
    made.submissions = map(made.params.sq_off.array + made.params.sq_entries * 4, IORING_OFF_SQ_RING);
    made.completions = map(made.params.cq_off.cqes + made.params.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING);
    made.entries = reinterpret_cast<io_uring_sqe*>(map(made.params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    return made;
}

/// Appends by io_uring: each request is made and completed once.
void rings_of_requests() {
    Rings ring = rings();
    int file = must(open("ring", O_CREAT | O_RDWR | O_TRUNC | O_APPEND, 0600), "open");
    auto word = [](char* base, unsigned offset) { return reinterpret_cast<std::atomic<uint32_t>*>(base + offset); };
    auto* tail = word(ring.submissions, ring.params.sq_off.tail);
    auto* array = word(ring.submissions, ring.params.sq_off.array);
    auto* head = word(ring.completions, ring.params.cq_off.head);
    auto* filled = word(ring.completions, ring.params.cq_off.tail);
    auto* results = reinterpret_cast<io_uring_cqe*>(ring.completions + ring.params.cq_off.cqes);
    uint64_t made = 0;
    for (Span span; span.lasts(); ++made) {
        busy(0.2);
        uint32_t at = *tail % ring.params.sq_entries;
        ring.entries[at] = {};
        ring.entries[at].opcode = IORING_OP_WRITE;
        ring.entries[at].fd = file;
        ring.entries[at].addr = reinterpret_cast<uint64_t>("x");
        ring.entries[at].len = 1;
        ring.entries[at].user_data = made;
        array[at] = at;
        *tail = *tail + 1;
        if (must(syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0), "io_uring_enter") != 1)
            return fail("io_uring_enter");
        while (*head == *filled) sched_yield();
        io_uring_cqe result = results[*head % ring.params.cq_entries];
        *head = *head + 1;
        if (!expect_equal("result", result.res, 1)) return;
        if (!expect(result.user_data == made, "in order")) return;
    }
    struct stat now{};
    fstat(file, &now);
    expect_equal("bytes", now.st_size, static_cast<long long>(made));
    must(ftruncate(file, 0), "ftruncate");
}

void named_pipe() {
    must(mkfifo("fifo", 0600), "mkfifo");
    for (Span span; span.lasts();) {
        int reader = must(open("fifo", O_RDONLY | O_NONBLOCK), "open");
        busy(4);
        close(reader);
        if (!expect(open("fifo", O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO, "nobody reads any more")) break;
    }
    unlink("fifo");
}

/// Credentials and descriptors sent over a socket are the sender's.
void sent_descriptors() {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), "socketpair");
    int on = 1;
    setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    long long wrong = 0;
    for (Span span; span.lasts();) {
        busy(1);
        int file = must(open("sent", O_CREAT | O_RDWR, 0600), "open");
        char space[CMSG_SPACE(sizeof(int))] = {}, byte = 'x';
        iovec data{&byte, 1};
        msghdr message{nullptr, 0, &data, 1, space, sizeof space, 0};
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        *header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &file, sizeof file);
        must(sendmsg(ends[1], &message, 0), "sendmsg");
        close(file);
        alignas(cmsghdr) char got[256];
        msghdr received{nullptr, 0, &data, 1, got, sizeof got, 0};
        must(recvmsg(ends[0], &received, 0), "recvmsg");
        for (cmsghdr* each = CMSG_FIRSTHDR(&received); each; each = CMSG_NXTHDR(&received, each)) {
            if (each->cmsg_type == SCM_RIGHTS) close(*reinterpret_cast<int*>(CMSG_DATA(each)));
            if (each->cmsg_type == SCM_CREDENTIALS) wrong += reinterpret_cast<ucred*>(CMSG_DATA(each))->pid != getpid();
        }
    }
    expect_equal("sent by somebody else", wrong, 0);
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"end_of_a_pipe", end_of_a_pipe},
        {"broken_pipe", broken_pipe},
        {"end_of_a_socket", end_of_a_socket},
        {"bsd_locks", bsd_locks},
        {"open_file_locks", open_file_locks},
        {"posix_locks", posix_locks},
        {"posix_lock_stays", posix_lock_stays},
        {"executes_what_it_wrote", executes_what_it_wrote},
        {"port_again", port_again},
        {"sealed_memory", sealed_memory},
        {"file_events", file_events},
        {"file_position", file_position},
        {"mapped_output", mapped_output},
        {"epoll_and_eventfd", epoll_and_eventfd},
        {"rings_of_requests", rings_of_requests},
        {"named_pipe", named_pipe},
        {"sent_descriptors", sent_descriptors},
    };
    return run_named(cases, argc, argv);
}
