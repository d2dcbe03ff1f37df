#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <new>

#include "trace/snapshot.h"

namespace tmaprobe::trace {

/// What a program and its test tell each other, outside of what a copy may touch.
struct Board {
    std::atomic<int> ready{0}, go_on{1}, seen{0};
    std::atomic<std::uint64_t> rounds{0};
};

/// A program that runs until its board says otherwise, and its exit status.
class Program {
  public:
    explicit Program(const std::function<int(Board&)>& body)
        : board_(static_cast<Board*>(
              ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        new (board_) Board;
        pid_ = ::fork();
        if (pid_ == 0) ::_exit(body(*board_));
        while (!board_->ready) ::usleep(1000);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::munmap(board_, sizeof(Board));
    }
    pid_t pid() const { return pid_; }
    Board& board() { return *board_; }
    int end() {
        board_->go_on = 0;
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

  private:
    Board* board_;
    pid_t pid_ = -1;
};

/// A program that computes, and notices if it came out wrong.
inline int compute(Board& board) {
    std::uint64_t one = 1, other = 1;
    board.ready = 1;
    while (board.go_on) {
        for (int i = 0; i < 1000; ++i) one = one * 6364136223846793005u + 1442695040888963407u;
        for (int i = 0; i < 1000; ++i) other = other * 6364136223846793005u + 1442695040888963407u;
        if (one != other) return 9;
        ++board.rounds;
    }
    return 7;
}

/// A copy, from as many attempts as a busy machine needs.
inline SnapshotAttempt copy_of(pid_t process) {
    SnapshotAttempt attempt;
    EndingThreads ending;
    for (int tries = 0; tries < 10000 && !attempt.snapshot; ++tries) {
        if (tries) ::usleep(1000);
        attempt = take_snapshot(process, process, ending);
    }
    return attempt;
}

}  // namespace tmaprobe::trace
