// Blocking system calls that nobody interrupts: EINTR from any of them is one that nobody caused.
#include <aio.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

/// Runs `wait` in a thread again and again; `release` lets it go each time, after a while of computing. `wait` returns
/// less than 0 where the call failed.
void uninterrupted(const std::function<long()>& wait, const std::function<void()>& release) {
    std::atomic<long long> begun{0}, ended{0}, interrupted{0}, failed{0};
    std::atomic<bool> done{false};
    std::thread waiter([&] {
        while (!done) {
            ++begun;
            if (wait() < 0) ++(errno == EINTR ? interrupted : failed);
            ++ended;
        }
    });
    long long released = 0;
    for (Span span; span.lasts();) {
        busy(4);
        release();
        ++released;
        while (ended < released && interrupted + failed == 0) sched_yield();
        if (interrupted + failed > 0) break;
    }
    done = true;
    while (ended < begun) {
        release();
        sleep_ms(1);
    }
    waiter.join();
    expect_equal("interrupted by nothing", interrupted, 0);
    expect_equal("failed otherwise", failed, 0);
}

struct Pipe {
    int ends[2];
    Pipe() { must(pipe(ends), "pipe"); }
    void send() const { must(write(ends[1], "x", 1), "write"); }
    long take() const {
        char byte;
        return read(ends[0], &byte, 1);
    }
};

void read_pipe() {
    Pipe pipe;
    uninterrupted([&] { return pipe.take(); }, [&] { pipe.send(); });
}

void epoll() {
    Pipe pipe;
    int fd = must(epoll_create1(0), "epoll_create1");
    epoll_event event{EPOLLIN, {}};
    epoll_ctl(fd, EPOLL_CTL_ADD, pipe.ends[0], &event);
    uninterrupted(
        [&] {
            epoll_event ready;
            long result = epoll_wait(fd, &ready, 1, -1);
            if (result > 0) pipe.take();
            return result;
        },
        [&] { pipe.send(); });
}

void poll_and_select() {
    Pipe pipe;
    bool turn = false;
    uninterrupted(
        [&] {
            long result;
            if ((turn = !turn)) {
                pollfd ready{pipe.ends[0], POLLIN, 0};
                result = poll(&ready, 1, 60000);
            } else {
                fd_set set;
                FD_ZERO(&set);
                FD_SET(pipe.ends[0], &set);
                timeval limit{60, 0};
                result = select(pipe.ends[0] + 1, &set, nullptr, nullptr, &limit);
            }
            if (result > 0) pipe.take();
            return result;
        },
        [&] { pipe.send(); });
}

void sysv_semaphore() {
    int id = must(semget(IPC_PRIVATE, 1, 0600), "semget");
    sembuf down{0, -1, 0}, up{0, 1, 0};
    uninterrupted([&] { return semop(id, &down, 1); }, [&] { semop(id, &up, 1); });
    semctl(id, 0, IPC_RMID);
}

void sysv_messages() {
    int id = must(msgget(IPC_PRIVATE, 0600), "msgget");
    struct Message {
        long type = 1;
        char text[8] = {};
    } message;
    uninterrupted(
        [&] {
            Message got;
            return msgrcv(id, &got, sizeof got.text, 0, 0);
        },
        [&] { msgsnd(id, &message, sizeof message.text, 0); });
    msgctl(id, IPC_RMID, nullptr);
}

void posix_messages() {
    std::string name = "/no_harm_" + std::to_string(getpid());
    mq_attr attributes{};
    attributes.mq_maxmsg = 8;
    attributes.mq_msgsize = 16;
    mqd_t queue = mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    if (queue < 0) skip("no POSIX message queues here");
    mq_unlink(name.c_str());
    char text[16] = {};
    uninterrupted(
        [&] {
            char got[16];
            return mq_receive(queue, got, sizeof got, nullptr);
        },
        [&] { mq_send(queue, text, sizeof text, 0); });
}

void inotify_read() {
    int fd = must(inotify_init(), "inotify_init");
    must(inotify_add_watch(fd, ".", IN_CREATE), "inotify_add_watch");
    uninterrupted(
        [&] {
            char events[4096];
            return read(fd, events, sizeof events);
        },
        [&] {
            close(open("watched", O_CREAT | O_WRONLY, 0600));
            unlink("watched");
        });
}

void event_descriptor() {
    int fd = must(eventfd(0, EFD_SEMAPHORE), "eventfd");
    uninterrupted(
        [&] {
            uint64_t value;
            return read(fd, &value, sizeof value);
        },
        [&] {
            uint64_t one = 1;
            must(write(fd, &one, sizeof one), "write");
        });
}

void accepting() {
    int listener = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
    must(listen(listener, 16), "listen");
    socklen_t size = sizeof address;
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    uninterrupted(
        [&] {
            int connection = accept(listener, nullptr, nullptr);
            char byte;
            if (connection < 0) return -1L;
            long got = recv(connection, &byte, 1, 0);
            close(connection);
            return got;
        },
        [&] {
            int client = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
            must(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), "connect");
            busy(1);
            must(send(client, "x", 1, 0), "send");
            close(client);
        });
}

void messages_of_sockets() {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), "socketpair");
    timeval limit{60, 0};  // with a time limit set, receiving is not restarted by the kernel
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    uninterrupted(
        [&] {
            char byte;
            return recv(ends[0], &byte, 1, 0);
        },
        [&] { must(send(ends[1], "x", 1, 0), "send"); });
}

void posix_semaphore() {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    uninterrupted([&] { return sem_wait(&semaphore); }, [&] { sem_post(&semaphore); });
}

void signal_wait() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    uninterrupted(
        [&] {
            timespec limit{60, 0};
            return sigtimedwait(&set, nullptr, &limit);
        },
        [&] { kill(getpid(), SIGUSR1); });
}

void asynchronous_input() {
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, 8, &context) != 0) skip("no io_setup here");
    int event = must(eventfd(0, EFD_SEMAPHORE), "eventfd");
    uninterrupted(
        [&] {
            io_event done[1];
            return syscall(SYS_io_getevents, context, 1, 1, done, nullptr);
        },
        [&] {
            static char text[512];
            static int file = must(open("asynchronous", O_CREAT | O_RDWR, 0600), "open");
            iocb request{};
            request.aio_fildes = static_cast<uint32_t>(file);
            request.aio_lio_opcode = IOCB_CMD_PWRITE;
            request.aio_buf = reinterpret_cast<uint64_t>(text);
            request.aio_nbytes = sizeof text;
            iocb* list[] = {&request};
            must(syscall(SYS_io_submit, context, 1, list), "io_submit");
        });
    close(event);
}

/// A child that is waited for, by each call that waits.
void waiting_for_children() {
    int turn = 0;
    std::atomic<bool> done{false};
    std::thread worker([&] {
        while (!done) busy(1);
    });
    for (Span span; span.lasts(); ++turn) {
        pid_t child = child_of([] {
            busy(5);
            return 0;
        });
        siginfo_t info{};
        long result = turn % 2 ? waitid(P_PID, static_cast<id_t>(child), &info, WEXITED) : waitpid(child, nullptr, 0);
        if (!expect(result >= 0, "waiting is not interrupted")) break;
    }
    done = true;
    worker.join();
}

void file_lock() {
    int owner = must(open("locked", O_CREAT | O_RDWR, 0600), "open");
    int other = must(open("locked", O_RDWR), "open");
    must(flock(owner, LOCK_EX), "flock");
    std::atomic<int> turn{0};
    uninterrupted(
        [&] {
            long result = flock(other, LOCK_EX);
            if (result == 0) flock(other, LOCK_UN);
            turn = 1;
            while (turn == 1) sched_yield();
            return result;
        },
        [&] {
            flock(owner, LOCK_UN);
            while (turn != 1) sched_yield();
            flock(owner, LOCK_EX);
            turn = 0;
        });
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"read_pipe", read_pipe},
        {"epoll", epoll},
        {"poll_and_select", poll_and_select},
        {"sysv_semaphore", sysv_semaphore},
        {"sysv_messages", sysv_messages},
        {"posix_messages", posix_messages},
        {"inotify_read", inotify_read},
        {"event_descriptor", event_descriptor},
        {"accepting", accepting},
        {"messages_of_sockets", messages_of_sockets},
        {"posix_semaphore", posix_semaphore},
        {"signal_wait", signal_wait},
        {"asynchronous_input", asynchronous_input},
        {"waiting_for_children", waiting_for_children},
        {"file_lock", file_lock},
    };
    return run_named(cases, argc, argv);
}
