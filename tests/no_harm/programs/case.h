#pragma once
// What the programs of the bench share. A program holds several cases, each named by its first argument. A case prints
// nothing that differs between two runs by themselves: what it prints, its status and its files are compared.

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace no_harm {

struct Case {
    const char* name;
    void (*run)();
};

/// Runs the case that argv[1] names. Exit status: 0 it ended, 1 something that it expected was not so, 2 no such case,
/// 77 it cannot run here; a case may also exit by itself.
int run_named(std::span<const Case> cases, int argc, char** argv);

/// Prints `what` and remembers the failure if `held` is false; returns `held`.
bool expect(bool held, const char* what);

/// The same for two numbers, both printed.
bool expect_equal(const char* what, long long found, long long expected);

/// Ends the process with status 77 and the reason.
[[noreturn]] void skip(const char* reason);

/// Ends the process with status 1, naming the call that failed and its errno.
[[noreturn]] void fail(const char* call);

/// `result` of a system call that returns -1 where it failed, which ends the process.
template <typename Number>
Number must(Number result, const char* call) {
    if (result == static_cast<Number>(-1)) fail(call);
    return result;
}

/// How long a case works: $NO_HARM_MS, or 400 ms. Long enough for samples to be taken.
int work_ms();

double seconds_now();

/// Time that a loop goes on for: `for (Span span; span.lasts();) ...`.
class Span {
  public:
    explicit Span(double milliseconds = work_ms()) : end_(seconds_now() + milliseconds / 1000) {}
    bool lasts() const { return seconds_now() < end_; }

  private:
    double end_;
};

/// Computes for about so long; returns something that depends on it.
uint64_t busy(double milliseconds);

/// A fixed amount of computation with a known result, and whether it came out right.
bool computed_right(unsigned rounds);

void sleep_ms(double milliseconds);

/// A handler of `signal` with these flags.
void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0);

/// Waits for a child, repeated where a handler interrupts it; returns its wait status.
int wait_for(pid_t child);

/// Forks; the child runs `body` and exits with what it returns.
template <typename Body>
pid_t child_of(Body body) {
    fflush(stdout);
    pid_t child = must(fork(), "fork");
    if (child == 0) {
        int status = body();
        fflush(stdout);
        _exit(status);
    }
    return child;
}

/// Memory shared with children, zeroed.
template <typename T>
T* shared();

void* shared_bytes(size_t bytes);

template <typename T>
T* shared() {
    return static_cast<T*>(shared_bytes(sizeof(T)));
}

}  // namespace no_harm
