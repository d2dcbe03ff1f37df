// What is under way when a thread is stopped: calls that a signal would end with less than was asked for, though none
// came, and threads that are another, or wait for another, before they stop.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

constexpr size_t kMegabyte = 1 << 20;

/// Calls again and again; each call is to do all that was asked for.
void whole(const std::function<ssize_t()>& call, size_t wanted) {
    long long calls = 0, less = 0, failed = 0;
    for (Span span; span.lasts(); ++calls) {
        const ssize_t done = call();
        if (done < 0)
            ++failed;
        else
            less += static_cast<size_t>(done) != wanted;
    }
    expect_equal("calls that failed", failed, 0);
    expect_equal("calls that did less than was asked for", less, 0);
}

/// Takes what comes until nothing more can come.
std::thread reader(int from) {
    return std::thread([from] {
        std::vector<char> buffer(60'000);
        while (read(from, buffer.data(), buffer.size()) > 0) busy(0.01);
    });
}

void writes_to(int to, int from) {
    const std::vector<char> data(kMegabyte, 'x');
    std::thread taker = reader(from);
    whole([&] { return write(to, data.data(), data.size()); }, data.size());
    close(to);
    taker.join();
}

void long_writes_to_a_pipe() {
    int ends[2];
    must(pipe(ends), "pipe");
    writes_to(ends[1], ends[0]);
}

void long_writes_to_a_socket() {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    writes_to(ends[1], ends[0]);
}

void long_gathered_writes() {
    int ends[2];
    must(pipe(ends), "pipe");
    const std::vector<char> one(300'000, 'x'), two(5, 'y'), three(200'000, 'z');
    const auto part = [](const std::vector<char>& bytes) {
        return iovec{const_cast<char*>(bytes.data()), bytes.size()};
    };
    const iovec parts[] = {part(one), part(two), part(three)};
    std::thread taker = reader(ends[0]);
    whole([&] { return writev(ends[1], parts, 3); }, one.size() + two.size() + three.size());
    close(ends[1]);
    taker.join();
}

/// A message of two parts, with a descriptor that is to arrive once.
void long_messages() {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    std::vector<char> one(300'000, 'x'), two(200'000, 'y');
    iovec parts[] = {{one.data(), one.size()}, {two.data(), two.size()}};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(header)) = 0;
    long long sent = 0, arrived = 0;
    std::thread taker([&] {
        std::vector<char> buffer(60'000);
        for (;;) {
            alignas(cmsghdr) char got[CMSG_SPACE(sizeof(int))] = {};
            iovec part{buffer.data(), buffer.size()};
            msghdr taken{};
            taken.msg_iov = &part;
            taken.msg_iovlen = 1;
            taken.msg_control = got;
            taken.msg_controllen = sizeof got;
            if (recvmsg(ends[0], &taken, 0) <= 0) return;
            if (const cmsghdr* came = CMSG_FIRSTHDR(&taken); came) {
                ++arrived;
                close(*reinterpret_cast<const int*>(CMSG_DATA(came)));
            }
            busy(0.01);
        }
    });
    whole(
        [&] {
            ++sent;
            return sendmsg(ends[1], &message, MSG_NOSIGNAL);
        },
        one.size() + two.size());
    close(ends[1]);
    taker.join();
    expect_equal("descriptors that did not arrive once", arrived - sent, 0);
}

/// The kernel copies a file into a socket, from where the last call ended.
void long_copies_by_the_kernel() {
    const int file = must(memfd_create("case", 0), "memfd_create");
    must(ftruncate(file, kMegabyte), "ftruncate");
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    std::thread taker = reader(ends[0]);
    whole(
        [&] {
            off_t from = 0;
            const ssize_t done = sendfile(ends[1], file, &from, kMegabyte);
            return from == done ? done : -1;
        },
        kMegabyte);
    close(ends[1]);
    taker.join();
}

/// What arrives is what was sent, each byte once and in order.
void bytes_in_order() {
    int ends[2];
    must(pipe(ends), "pipe");
    std::vector<unsigned char> data(kMegabyte + 4099);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 251);
    long long wrong = 0;
    std::thread taker([&] {
        std::vector<unsigned char> got(60'000);
        size_t at = 0;
        for (ssize_t bytes; (bytes = read(ends[0], got.data(), got.size())) > 0;)
            for (ssize_t i = 0; i < bytes; ++i, at = (at + 1) % data.size())
                wrong += got[static_cast<size_t>(i)] != data[at];
    });
    whole([&] { return write(ends[1], data.data(), data.size()); }, data.size());
    close(ends[1]);
    taker.join();
    expect_equal("bytes that are not in their place", wrong, 0);
}

void long_reads_of_zeros() {
    const int zeros = must(open("/dev/zero", O_RDONLY), "open");
    std::vector<char> data(4 * kMegabyte);
    whole([&] { return read(zeros, data.data(), data.size()); }, data.size());
}

void long_reads_of_random_bytes() {
    const int source = must(open("/dev/urandom", O_RDONLY), "open");
    std::vector<char> data(kMegabyte);
    whole([&] { return read(source, data.data(), data.size()); }, data.size());
    whole([&] { return getrandom(data.data(), data.size(), 0); }, data.size());
}

void all_of_a_message() {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    std::thread sender([&] {
        const std::vector<char> part(10'000, 'x');
        while (send(ends[1], part.data(), part.size(), MSG_NOSIGNAL) > 0) busy(0.02);
    });
    std::vector<char> data(kMegabyte);
    whole([&] { return recv(ends[0], data.data(), data.size(), MSG_WAITALL); }, data.size());
    close(ends[0]);
    sender.join();
}

/// A thread that executes another program goes on under its process's number.
void exec_from_many_threads() {
    for (Span span; span.lasts();) {
        const pid_t child = child_of([] {
            std::thread([] {
                busy(2);
                execl("/bin/true", "true", nullptr);
                _exit(3);
            }).join();
            return 2;
        });
        if (!expect_equal("status of what a thread executed", wait_for(child), 0)) break;
    }
}

/// One thread computes while another executes a program, which ends the first.
void exec_beside_a_thread() {
    for (Span span; span.lasts();) {
        const pid_t child = child_of([] {
            std::thread([] {
                for (;;) busy(1);
            }).detach();
            busy(2);
            execl("/bin/true", "true", nullptr);
            return 2;
        });
        if (!expect_equal("status of what was executed", wait_for(child), 0)) break;
    }
}

/// A thread that computes, and then waits for the child of its vfork(), which takes its time.
void vfork_with_a_slow_child() {
    for (Span span; span.lasts();) {
        busy(2);
        const pid_t child = vfork();
        if (child == 0) {
            timespec time{0, 60'000'000};
            nanosleep(&time, nullptr);
            _exit(5);
        }
        if (!expect_equal("status of the child of vfork", WEXITSTATUS(wait_for(must(child, "vfork"))), 5)) break;
    }
}

/// The first thread of a process ends, the others go on; each is killed in the middle of its work now and then.
void first_threads_that_end() {
    for (Span span; span.lasts();) {
        const pid_t child = child_of([] {
            std::thread([] {
                busy(8);
                _exit(6);
            }).detach();
            busy(2);
            pthread_exit(nullptr);
            return 2;
        });
        if (!expect_equal("status of what its other threads ended", WEXITSTATUS(wait_for(child)), 6)) break;
    }
}

void killed_at_work() {
    for (Span span; span.lasts();) {
        const pid_t child = child_of([] {
            for (int i = 0; i < 3; ++i)
                std::thread([] {
                    for (;;) busy(1);
                }).detach();
            for (;;) busy(1);
            return 2;
        });
        sleep_ms(7);
        kill(child, SIGKILL);
        const int status = wait_for(child);
        if (!expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it was killed")) break;
    }
}

/// A process is stopped and continued again and again while it computes.
void stopped_at_work() {
    const pid_t child = child_of([] {
        for (;;) busy(1);
        return 2;
    });
    for (Span span; span.lasts();) {
        sleep_ms(3);
        kill(child, SIGSTOP);
        int status = 0;
        must(waitpid(child, &status, WUNTRACED), "waitpid");
        if (!expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "it was stopped")) break;
        kill(child, SIGCONT);
        must(waitpid(child, &status, WCONTINUED), "waitpid");
        if (!expect(WIFCONTINUED(status), "it was continued")) break;
    }
    kill(child, SIGKILL);
    wait_for(child);
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"long_writes_to_a_pipe", long_writes_to_a_pipe},
        {"long_writes_to_a_socket", long_writes_to_a_socket},
        {"long_gathered_writes", long_gathered_writes},
        {"long_messages", long_messages},
        {"long_copies_by_the_kernel", long_copies_by_the_kernel},
        {"bytes_in_order", bytes_in_order},
        {"long_reads_of_zeros", long_reads_of_zeros},
        {"long_reads_of_random_bytes", long_reads_of_random_bytes},
        {"all_of_a_message", all_of_a_message},
        {"exec_from_many_threads", exec_from_many_threads},
        {"exec_beside_a_thread", exec_beside_a_thread},
        {"vfork_with_a_slow_child", vfork_with_a_slow_child},
        {"first_threads_that_end", first_threads_that_end},
        {"killed_at_work", killed_at_work},
        {"stopped_at_work", stopped_at_work},
    };
    return run_named(cases, argc, argv);
}
