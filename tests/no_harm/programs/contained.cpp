// Each case acts in a tight loop, and somebody outside counts exactly: an action too many was a copy's, one that is
// missing was taken from the program. Whenever it is stopped, its next action is one of these.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

/// What actor and observer tell each other besides what is watched.
struct Tally {
    std::atomic<int> ended;
    long long acted;  // written by the actor once, at its end
};

/// Some dozens of microseconds of computing, as between two actions of a real program.
void think() {
    if (!computed_right(2000)) _exit(98);
}

/// Runs `act(i)` in a child, for i = 0, 1, ..., until the time is over; `observe` runs here beside it until it returns.
/// Returns how often the child acted.
long long acting(const std::function<void(long long)>& act, const std::function<void(Tally*)>& observe = {}) {
    auto* tally = shared<Tally>();
    pid_t actor = child_of([&] {
        long long count = 0;
        for (Span span; span.lasts(); ++count) {
            think();
            act(count);
        }
        tally->acted = count;
        tally->ended = 1;
        return 0;
    });
    if (observe) observe(tally);
    expect_equal("status of the actor", wait_for(actor), 0);
    return tally->acted;
}

void shared_memory() {
    auto* count = shared<std::atomic<long long>>();
    auto* plain = shared<long long>();
    long long acted = acting([=](long long) {
        ++*count;
        *plain = *plain + 1;
    });
    expect_equal("atomic additions", *count, acted);
    expect_equal("plain additions", *plain, acted);
}

void mapped_file() {
    int fd = must(open("mapped", O_CREAT | O_RDWR | O_TRUNC, 0600), "open");
    must(ftruncate(fd, 4096), "ftruncate");
    auto* count = static_cast<volatile long long*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    long long acted = acting([=](long long) { *count = *count + 1; });
    expect_equal("additions", *count, acted);
    must(ftruncate(fd, 0), "ftruncate");
}

void system_v_memory() {
    int id = must(shmget(IPC_PRIVATE, 4096, 0600), "shmget");
    auto* count = static_cast<std::atomic<long long>*>(shmat(id, nullptr, 0));
    shmctl(id, IPC_RMID, nullptr);
    long long acted = acting([=](long long) { ++*count; });
    expect_equal("additions", *count, acted);
}

/// The actor writes numbers; they come here in their order, each once.
void numbers_written(int writing, int reading, bool messages) {
    long long wrong = 0, next = 0;
    long long acted = acting(
        [=](long long i) {
            if (write(writing, &i, sizeof i) != sizeof i) _exit(97);
        },
        [&](Tally* tally) {
            for (;;) {
                pollfd ready{reading, POLLIN, 0};
                if (poll(&ready, 1, 20) <= 0) {
                    if (tally->ended) return;
                    continue;
                }
                long long numbers[64];
                ssize_t bytes = read(reading, numbers, messages ? sizeof numbers[0] : sizeof numbers);
                for (ssize_t i = 0; i < bytes / 8; ++i) wrong += numbers[i] != next++;
            }
        });
    expect_equal("received", next, acted);
    expect_equal("out of order", wrong, 0);
}

void pipe_writes() {
    int ends[2];
    must(pipe(ends), "pipe");
    numbers_written(ends[1], ends[0], false);
}

void stream_socket() {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    numbers_written(ends[1], ends[0], false);
}

void datagrams() {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), "socketpair");
    numbers_written(ends[1], ends[0], true);
}

void terminal_writes() {
    int master = -1, slave = -1;
    if (openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) skip("no pseudo-terminal here");
    long long bytes = 0;
    long long acted = acting(
        [=](long long) {
            if (write(slave, "x", 1) != 1) _exit(97);
        },
        [&](Tally* tally) {
            for (;;) {
                pollfd ready{master, POLLIN, 0};
                if (poll(&ready, 1, 20) <= 0) {
                    if (tally->ended) return;
                    continue;
                }
                char text[512];
                bytes += read(master, text, sizeof text);
            }
        });
    expect_equal("characters", bytes, acted);
}

void file_writes() {
    int fd = must(open("written", O_CREAT | O_RDWR | O_TRUNC, 0600), "open");
    long long acted = acting([=](long long i) {
        if (write(fd, &i, sizeof i) != sizeof i) _exit(97);
    });
    struct stat now{};
    fstat(fd, &now);
    expect_equal("bytes", now.st_size, acted * 8);
    std::vector<long long> numbers(static_cast<size_t>(acted));
    expect_equal("read", pread(fd, numbers.data(), numbers.size() * 8, 0), acted * 8);
    for (size_t i = 0; i < numbers.size(); ++i)
        if (!expect_equal("number", numbers[i], static_cast<long long>(i))) break;
    must(ftruncate(fd, 0), "ftruncate");
}

/// Reading moves the position that all who share the file have.
void file_reads() {
    constexpr long long kNumbers = 200'000;
    int fd = must(open("numbers", O_CREAT | O_RDWR | O_TRUNC, 0600), "open");
    std::vector<long long> numbers(kNumbers);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<long long>(i);
    must(write(fd, numbers.data(), numbers.size() * 8), "write");
    must(lseek(fd, 0, SEEK_SET), "lseek");
    long long acted = acting([=](long long i) {
        long long number = -1;
        if (read(fd, &number, sizeof number) != sizeof number || number != i % kNumbers) _exit(97);
        if (i % kNumbers == kNumbers - 1) lseek(fd, 0, SEEK_SET);
    });
    expect_equal("position", lseek(fd, 0, SEEK_CUR), acted % kNumbers * 8);
    must(ftruncate(fd, 0), "ftruncate");
}

/// Reading from a pipe takes what nobody else can have: the actor gets each number.
void pipe_reads() {
    int ends[2];
    must(pipe(ends), "pipe");
    acting(
        [=](long long i) {
            long long number = -1;
            if (read(ends[0], &number, sizeof number) != sizeof number || number != i) _exit(97);
        },
        [&](Tally* tally) {
            fcntl(ends[1], F_SETFL, O_NONBLOCK);
            for (long long i = 0; !tally->ended;) {
                if (write(ends[1], &i, sizeof i) == sizeof i)
                    ++i;
                else
                    sched_yield();
            }
        });
}

void accepted_connections() {
    int listener = must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "no_harm_%d", getpid());
    must(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
    must(listen(listener, 64), "listen");
    acting(
        [=](long long i) {
            int connection = accept(listener, nullptr, nullptr);
            long long number = -1;
            if (connection < 0 || read(connection, &number, sizeof number) != sizeof number || number != i) _exit(97);
            close(connection);
        },
        [&](Tally* tally) {
            for (long long i = 0; !tally->ended;) {
                int client = must(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
                if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
                    must(write(client, &i, sizeof i), "write");
                    ++i;
                } else {
                    sched_yield();
                }
                close(client);
            }
        });
}

void semaphore_posts() {
    auto* semaphore = shared<sem_t>();
    sem_init(semaphore, 1, 0);
    long long acted = acting([=](long long) { sem_post(semaphore); });
    int value = 0;
    sem_getvalue(semaphore, &value);
    expect_equal("posts", value, acted);
}

void system_v_semaphores() {
    int id = must(semget(IPC_PRIVATE, 1, 0600), "semget");
    sembuf up{0, 1, 0};
    long long acted = acting([&](long long i) {
        if (semop(id, &up, 1) != 0 || (i % 1000 == 999 && semctl(id, 0, SETVAL, 0) != 0)) _exit(97);
    });
    expect_equal("value", semctl(id, 0, GETVAL), acted % 1000);
    semctl(id, 0, IPC_RMID);
}

void message_queue() {
    int id = must(msgget(IPC_PRIVATE, 0600), "msgget");
    struct Message {
        long type = 1;
        long long number = 0;
    };
    long long next = 0, wrong = 0;
    auto take = [&](int flags) {
        Message message;
        if (msgrcv(id, &message, sizeof message.number, 0, flags) < 0) return false;
        wrong += message.number != next++;
        return true;
    };
    long long acted = acting(
        [=](long long i) {
            Message message{1, i};
            if (msgsnd(id, &message, sizeof message.number, 0) != 0) _exit(97);
        },
        [&](Tally* tally) {
            while (!tally->ended)
                if (!take(IPC_NOWAIT)) sched_yield();
            while (take(IPC_NOWAIT)) {
            }
        });
    expect_equal("messages", next, acted);
    expect_equal("out of order", wrong, 0);
    msgctl(id, IPC_RMID, nullptr);
}

void event_counts() {
    int fd = must(eventfd(0, EFD_NONBLOCK), "eventfd");
    long long acted = acting([=](long long) {
        uint64_t one = 1;
        if (write(fd, &one, sizeof one) != sizeof one) _exit(97);
    });
    uint64_t value = 0;
    expect_equal("bytes", read(fd, &value, sizeof value), 8);
    expect_equal("events", static_cast<long long>(value), acted);
}

std::atomic<long long> signals, wrong_values;

void signals_sent() {
    handle(SIGRTMIN, [](int, siginfo_t* info, void*) {
        if (info->si_value.sival_int != signals) ++wrong_values;
        ++signals;
    });
    pid_t observer = getpid();
    long long acted = acting(
        [=](long long i) {
            while (sigqueue(observer, SIGRTMIN, sigval{static_cast<int>(i)}) != 0) sched_yield();
        },
        [](Tally* tally) {
            while (!tally->ended) sleep_ms(1);
        });
    sleep_ms(5);
    expect_equal("signals", signals, acted);
    expect_equal("wrong values", wrong_values, 0);
}

/// Each signal that kill(2) sends is answered before the next.
void signals_answered() {
    static std::atomic<long long>* answered;
    answered = shared<std::atomic<long long>>();
    handle(SIGUSR1, [](int, siginfo_t*, void*) { ++*answered; });
    pid_t observer = getpid();
    long long acted = acting(
        [=](long long i) {
            kill(observer, SIGUSR1);
            while (*answered <= i) sched_yield();
        },
        [](Tally* tally) {
            while (!tally->ended) sleep_ms(1);
        });
    expect_equal("signals", *answered, acted);
}

/// Directories made, moved and removed: each step fails if somebody else took it already.
void names() {
    acting([](long long i) {
        std::string name = "d" + std::to_string(i), other = "e" + std::to_string(i);
        if (mkdir(name.c_str(), 0700) != 0 || rename(name.c_str(), other.c_str()) != 0 || rmdir(other.c_str()) != 0)
            _exit(97);
    });
}

/// Memory of the observer, changed from outside by the actor.
void remote_memory() {
    static volatile long long count;
    pid_t observer = getpid();
    long long acted = acting([=](long long i) {
        iovec here{&i, sizeof i}, there{const_cast<long long*>(&count), sizeof i};
        long long before = -1;
        iovec read{&before, sizeof before};
        if (process_vm_readv(observer, &read, 1, &there, 1, 0) != sizeof i || before != (i > 0 ? i - 1 : 0)) _exit(97);
        if (process_vm_writev(observer, &here, 1, &there, 1, 0) != sizeof i) _exit(96);
    });
    expect_equal("last number", count, acted - 1);
}

/// Flags of an open file, a socket's options and an epoll set are shared with whoever shares the descriptor.
void shared_flags() {
    int ends[2];
    must(pipe(ends), "pipe");
    int set = must(epoll_create1(0), "epoll_create1");
    acting([=](long long i) {
        int wanted = i % 2 ? O_NONBLOCK : 0;
        if ((fcntl(ends[0], F_GETFL) & O_NONBLOCK) == wanted && i > 0) _exit(97);
        fcntl(ends[0], F_SETFL, wanted);
        think();
        if ((fcntl(ends[0], F_GETFL) & O_NONBLOCK) != wanted) _exit(96);
        epoll_event event{EPOLLIN, {}};
        if (epoll_ctl(set, i % 2 ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, ends[0], &event) != 0) _exit(95);
    });
}

void closed_connections() {
    acting([](long long i) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) _exit(97);
        think();
        if (write(ends[0], &i, sizeof i) != sizeof i) _exit(96);
        think();
        if (shutdown(ends[0], SHUT_WR) != 0) _exit(95);
        long long number = -1;
        if (read(ends[1], &number, sizeof number) != sizeof number || number != i) _exit(94);
        if (read(ends[1], &number, sizeof number) != 0) _exit(93);
        close(ends[0]), close(ends[1]);
    });
}

/// Children made: as many as were made, and each waited for once.
void forks() {
    auto* ran = shared<std::atomic<long long>>();
    long long acted = acting([=](long long) {
        pid_t child = fork();
        if (child == 0) {
            ++*ran;
            _exit(5);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5) _exit(97);
    });
    expect_equal("children", *ran, acted);
}

void programs_executed() {
    int fd = must(open("executed", O_CREAT | O_RDWR | O_TRUNC | O_APPEND, 0600), "open");
    long long acted = acting([=](long long) {
        pid_t child = fork();
        if (child == 0) {
            think();
            execl("/bin/sh", "sh", "-c", "echo x >> executed", nullptr);
            _exit(96);
        }
        if (wait_for(child) != 0) _exit(97);
    });
    struct stat now{};
    fstat(fd, &now);
    expect_equal("lines", now.st_size, acted * 2);
    must(ftruncate(fd, 0), "ftruncate");
}

/// Processes that it stops, continues and kills are the observer's children: each is told once.
void others_killed() {
    acting([](long long) {
        pid_t child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        think();
        kill(child, SIGTERM);
        int status = wait_for(child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) _exit(97);
    });
}

/// Wakes a waiter through a futex in shared memory: it is woken as often as it was woken.
void futex_wakes() {
    auto* word = shared<std::atomic<uint32_t>>();
    auto* seen = shared<std::atomic<uint32_t>>();
    long long acted = acting(
        [=](long long) {
            ++*word;
            syscall(SYS_futex, word, 1 /* FUTEX_WAKE */, 1, nullptr, nullptr, 0);
            while (*seen != *word) sched_yield();
        },
        [=](Tally* tally) {
            while (!tally->ended) {
                uint32_t now = *word;
                *seen = now;
                timespec limit{0, 5'000'000};
                syscall(SYS_futex, word, 0 /* FUTEX_WAIT */, now, &limit, nullptr, 0);
            }
        });
    expect_equal("wakes", *word, acted);
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"shared_memory", shared_memory},
        {"mapped_file", mapped_file},
        {"system_v_memory", system_v_memory},
        {"pipe_writes", pipe_writes},
        {"stream_socket", stream_socket},
        {"datagrams", datagrams},
        {"terminal_writes", terminal_writes},
        {"file_writes", file_writes},
        {"file_reads", file_reads},
        {"pipe_reads", pipe_reads},
        {"accepted_connections", accepted_connections},
        {"semaphore_posts", semaphore_posts},
        {"system_v_semaphores", system_v_semaphores},
        {"message_queue", message_queue},
        {"event_counts", event_counts},
        {"signals_sent", signals_sent},
        {"signals_answered", signals_answered},
        {"names", names},
        {"remote_memory", remote_memory},
        {"shared_flags", shared_flags},
        {"closed_connections", closed_connections},
        {"forks", forks},
        {"programs_executed", programs_executed},
        {"others_killed", others_killed},
        {"futex_wakes", futex_wakes},
    };
    return run_named(cases, argc, argv);
}
