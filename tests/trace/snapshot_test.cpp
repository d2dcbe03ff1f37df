#include "trace/snapshot.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/file.h"
#include "tests/trace/ended_copy.h"

namespace tmaprobe::trace {
namespace {

bool runs_on(Program& program) {
    const std::uint64_t before = program.board().rounds;
    for (int tries = 0; tries < 10000 && program.board().rounds == before; ++tries) ::usleep(1000);
    return program.board().rounds != before;
}

TEST(Snapshot, LeavesTheOriginalAsItWas) {
#if !defined(__x86_64__)
    GTEST_SKIP() << "registers are set back on x86-64 alone so far";
#endif
    Program program(compute);
    for (int i = 0; i < 50; ++i) {
        const auto attempt = copy_of(program.pid());
        ASSERT_TRUE(attempt.snapshot) << name_of(attempt.missed) << " " << attempt.why;
        EXPECT_GT(attempt.pause_ns, 0u);
    }
    EXPECT_TRUE(runs_on(program));
    EXPECT_EQ(program.end(), 7);
}

TEST(Snapshot, LeavesNothingBehindThatTheOriginalCouldWaitFor) {
    Program program([](Board& board) {
        board.ready = 1;
        while (board.go_on) ++board.rounds;
        return ::waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD ? 3 : 4;
    });
    auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << name_of(attempt.missed);
    const std::string number = std::to_string(program.pid());
    EXPECT_EQ(read_line("/proc/" + number + "/task/" + number + "/children"), "");
    EXPECT_EQ(program.end(), 3);
}

TEST(Snapshot, HasNoDescriptorsAndItsOwnSession) {
    Program program(compute);
    const auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << name_of(attempt.missed);
    const std::string folder = "/proc/" + std::to_string(attempt.snapshot->copy());
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/fd"));
    EXPECT_EQ(::getsid(attempt.snapshot->copy()), attempt.snapshot->copy());
    EXPECT_EQ(attempt.snapshot->identity.process, program.pid());
}

TEST(Snapshot, IsGoneWhenItIsDropped) {
    Program program(compute);
    pid_t copy = 0;
    {
        const auto attempt = copy_of(program.pid());
        ASSERT_TRUE(attempt.snapshot) << name_of(attempt.missed);
        copy = attempt.snapshot->copy();
    }
    for (int tries = 0; tries < 5000 && ::kill(copy, 0) == 0; ++tries) ::usleep(1000);
    EXPECT_NE(::kill(copy, 0), 0);
}

TEST(Snapshot, SharesNoMemoryThatItCouldWrite) {
    Program program([](Board& board) {
        board.ready = 1;
        const pid_t original = ::getpid();
        // A copy would count here at once: it is the same code.
        while (board.go_on) ++board.rounds;
        return ::getpid() == original ? 5 : 6;
    });
    auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << name_of(attempt.missed);
    ::kill(program.pid(), SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(program.pid(), &status, WUNTRACED), program.pid());
    const std::uint64_t before = program.board().rounds;
    EXPECT_FALSE(run_copy(std::move(*attempt.snapshot), 2000));
    EXPECT_EQ(program.board().rounds, before);
    ::kill(program.pid(), SIGCONT);
    EXPECT_EQ(program.end(), 5);
}

std::string mappings_with_flags(pid_t process) {
    return read_file("/proc/" + std::to_string(process) + "/smaps").value_or("");
}

/// How many are attached, and who was the last, is seen by everybody.
TEST(Snapshot, IsNotAttachedToSegmentsOfTheOriginal) {
    const int id = ::shmget(IPC_PRIVATE, 3 * 4096, 0600);
    ASSERT_GE(id, 0);
    static constexpr std::uint64_t word = 0x1122334455667788;
    Program program([id](Board& board) {
        auto* memory = static_cast<volatile std::uint64_t*>(::shmat(id, nullptr, 0));
        memory[0] = word;
        board.rounds = reinterpret_cast<std::uint64_t>(memory);
        board.ready = 1;
        while (board.go_on) {
        }
        const pid_t child = ::fork();
        if (child == 0) ::_exit(memory[0] == word ? 4 : 5);
        int status = 0;
        ::waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    });
    const std::uint64_t at = program.board().rounds;
    shmid_ds before{}, after{};
    ASSERT_EQ(::shmctl(id, IPC_STAT, &before), 0);
    auto attempt = copy_of(program.pid());
    EXPECT_EQ(::shmctl(id, IPC_STAT, &after), 0);
    ::shmctl(id, IPC_RMID, nullptr);
    ASSERT_TRUE(attempt.snapshot) << name_of(attempt.missed) << " " << attempt.why;
    EXPECT_EQ(after.shm_nattch, 1u);
    EXPECT_EQ(after.shm_lpid, before.shm_lpid);
    EXPECT_EQ(mappings_with_flags(program.pid()).find(" dc "), std::string::npos);
    // The copy has what was there, and nothing of what was never touched.
    const pid_t copy = attempt.snapshot->copy();
    EXPECT_EQ(mappings_with_flags(copy).find("/SYSV"), std::string::npos);
    std::uint64_t read = 0;
    const iovec local{&read, sizeof read};
    const auto read_at = [&](std::uint64_t address) {
        const iovec remote{reinterpret_cast<void*>(address), sizeof read};
        return ::process_vm_readv(copy, &local, 1, &remote, 1, 0) == sizeof read;
    };
    EXPECT_TRUE(read_at(at));
    EXPECT_EQ(read, word);
    EXPECT_FALSE(read_at(at + 4096));
    EXPECT_EQ(program.end(), 4) << "a child of the original has the segment";
}

/// Several, since what is put back must not be put where another one was.
TEST(Snapshot, HasWhatTheOriginalWritesToFilesForItself) {
    constexpr std::uint64_t files = 3, bytes = 64 * 4096;
    const std::string folder = std::filesystem::temp_directory_path() / ("snapshot_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const auto name = [&](std::uint64_t file) { return folder + "/" + std::to_string(file); };
    Program program([&](Board& board) {
        for (std::uint64_t file = 0; file < files; ++file) {
            const int descriptor = ::open(name(file).c_str(), O_RDWR | O_CREAT, 0600);
            if (::ftruncate(descriptor, bytes) != 0) ::_exit(9);
            auto* memory =
                static_cast<std::uint64_t*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
            memory[0] = reinterpret_cast<std::uint64_t>(memory);
            if (file == 0) ::unlink(name(file).c_str());  // it has no name any more
            memory[1] = board.rounds;                     // the one before it
            board.rounds = memory[0];
        }
        board.ready = 1;
        while (board.go_on) {
        }
        return 0;
    });
    const auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << name_of(attempt.missed) << " " << attempt.why;
    const pid_t copy = attempt.snapshot->copy();
    EXPECT_EQ(read_file("/proc/" + std::to_string(copy) + "/maps").value_or("").find("rw-s"), std::string::npos);
    std::uint64_t at = program.board().rounds;
    for (std::uint64_t file = files; file-- > 0;) {
        std::uint64_t words[2] = {};
        const iovec local{words, sizeof words}, remote{reinterpret_cast<void*>(at), sizeof words};
        ASSERT_EQ(::process_vm_readv(copy, &local, 1, &remote, 1, 0), static_cast<ssize_t>(sizeof words)) << file;
        EXPECT_EQ(words[0], at) << file;
        at = words[1];
    }
    std::filesystem::remove_all(folder);
}

TEST(Snapshot, IsNotTakenOfWhatWaits) {
    Program program([](Board& board) {
        const int events = ::epoll_create1(0);
        epoll_event event{};
        board.ready = 1;
        while (board.go_on)
            if (::epoll_wait(events, &event, 1, 100) < 0) return 2;  // EINTR, that nobody caused
        return 1;
    });
    int waiting = 0;
    EndingThreads ending;
    for (int i = 0; i < 200; ++i)
        waiting += take_snapshot(program.pid(), program.pid(), ending).missed == Missed::waiting;
    EXPECT_GT(waiting, 150);
    EXPECT_EQ(program.end(), 1);
}

TEST(Snapshot, HoldsNoThreadThatStartsMeanwhile) {
    Program program([](Board& board) {
        board.ready = 1;
        while (board.go_on) {
            std::thread([] {}).join();
            ++board.rounds;
        }
        return 7;
    });
    EndingThreads ending;
    for (int i = 0; i < 500; ++i) take_snapshot(program.pid(), program.pid(), ending);
    ASSERT_TRUE(runs_on(program)) << "it waits for a thread that nobody lets go on";
    EXPECT_EQ(program.end(), 7);
}

TEST(Snapshot, IsNotTakenOfWhatIsStoppedOrTracedOrGone) {
    Program program(compute);
    EndingThreads ending;
    int status = 0;
    ::kill(program.pid(), SIGSTOP);
    ASSERT_EQ(::waitpid(program.pid(), &status, WUNTRACED), program.pid());
    EXPECT_EQ(take_snapshot(program.pid(), program.pid(), ending).missed, Missed::stopped);
    ::kill(program.pid(), SIGCONT);
    ASSERT_EQ(::ptrace(PTRACE_SEIZE, program.pid(), nullptr, nullptr), 0);
    EXPECT_EQ(take_snapshot(program.pid(), program.pid(), ending).missed, Missed::traced);
    ::ptrace(PTRACE_INTERRUPT, program.pid(), nullptr, nullptr);
    ::waitpid(program.pid(), &status, __WALL);
    ::ptrace(PTRACE_DETACH, program.pid(), nullptr, nullptr);
    const pid_t pid = program.pid();
    EXPECT_EQ(program.end(), 7);
    EXPECT_EQ(take_snapshot(pid, pid, ending).missed, Missed::gone);
}

/// Two connected sockets.
struct Connection {
    int ends[2] = {-1, -1};
    Connection() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    /// All that there is to be read at one end.
    std::string rest(int end) const {
        char text[64];
        const ssize_t got = ::read(ends[end], text, sizeof text);
        return {text, static_cast<std::size_t>(std::max<ssize_t>(0, got))};
    }
};

#if defined(__x86_64__)
TEST(CopyCalls, EndWhereTheOutsideBegins) {
    EXPECT_EQ(ending_of([] { ::kill(::getppid(), SIGCONT); }), EndedBy::signals);
    EXPECT_EQ(ending_of([] { ::usleep(1); }), EndedBy::waits);
    EXPECT_EQ(ending_of([] {
                  static_cast<void>(::fork() == 0 ? ::_exit(0) : void());
                  ::wait(nullptr);
              }),
              EndedBy::processes);
    EXPECT_EQ(ending_of([] { static_cast<void>(!::chdir("/")); }), EndedBy::other_call);
    EXPECT_EQ(ending_of([] {}), EndedBy::exits);
}

TEST(CopyCalls, GoOnWhereNobodySeesIt) {
    // A write is pretended: the copy comes to its end, and nobody gets it.
    const Connection connection;
    EXPECT_EQ(ending_of([&] { fail_unless(::write(connection.ends[0], "x", 1) == 1); }), EndedBy::exits);
    EXPECT_EQ(connection.rest(1), "");
    EXPECT_EQ(ending_of([original = ::getpid()] { fail_unless(::getppid() == original); }), EndedBy::exits);
    EXPECT_EQ(ending_of([] {
                  void* const memory =
                      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  *static_cast<volatile char*>(memory) = 1;
                  ::munmap(memory, 4096);
              }),
              EndedBy::exits);
}

TEST(CopyCalls, ServeWhatHadComeAndLeaveItThere) {
    const Connection connection;
    const auto serve = [&] {
        char text[8] = {};
        fail_unless(::read(connection.ends[0], text, 3) == 3 && std::string(text) == "abc");
        fail_unless(::recv(connection.ends[0], text, sizeof text, 0) == 2 && text[0] == 'd');
        fail_unless(::read(connection.ends[0], text, sizeof text) == -1 && errno == EAGAIN);
    };
    EXPECT_EQ(ending_of([&] { serve(); }, [&] { ASSERT_EQ(::write(connection.ends[1], "abcde", 5), 5); }),
              EndedBy::exits);
    EXPECT_EQ(connection.rest(0), "abcde");
}

TEST(CopyCalls, TellWhichSocketsHaveSomething) {
    const Connection one, other;
    const int epoll = ::epoll_create1(0);
    for (const Connection* each : {&one, &other}) {
        epoll_event event{EPOLLIN, {}};
        event.data.u64 = static_cast<std::uint64_t>(each->ends[0]) + 1000;
        ASSERT_EQ(::epoll_ctl(epoll, EPOLL_CTL_ADD, each->ends[0], &event), 0);
    }
    const auto serve = [&] {
        epoll_event events[4];
        char text[8];
        fail_unless(::epoll_wait(epoll, events, 4, -1) == 1);
        fail_unless(events[0].events == EPOLLIN);
        fail_unless(events[0].data.u64 == static_cast<std::uint64_t>(other.ends[0]) + 1000);
        fail_unless(::read(other.ends[0], text, sizeof text) == 1);
        ::epoll_wait(epoll, events, 4, -1);  // nothing more has come
    };
    EXPECT_EQ(ending_of(serve, [&] { ASSERT_EQ(::write(other.ends[1], "x", 1), 1); }), EndedBy::waits);
    EXPECT_EQ(other.rest(0), "x");
    ::close(epoll);
}

TEST(CopyCalls, ShowAClockThatGoesOnWithTheCopyAlone) {
    // Single steps take many times longer than this by the machine's clock.
    EXPECT_EQ(ending_of([] {
                  timespec begin{}, end{};
                  ::clock_gettime(CLOCK_MONOTONIC, &begin);
                  for (int i = 0; i < 10000; ++i) asm volatile("");
                  ::clock_gettime(CLOCK_MONOTONIC, &end);
                  fail_unless((end.tv_sec - begin.tv_sec) * 1'000'000'000 + end.tv_nsec - begin.tv_nsec < 1'000'000);
              }),
              EndedBy::exits);
}
#endif

}  // namespace
}  // namespace tmaprobe::trace
