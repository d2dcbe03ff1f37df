#include "case.h"

#include <sys/mman.h>

#include <string_view>

namespace no_harm {

namespace {

// One for the process, since signal handlers and threads report too.
std::atomic<int>& failures() {
    static std::atomic<int> count;
    return count;
}

uint64_t mixed(uint64_t value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdULL;
    value ^= value >> 29;
    return value + 0x9e3779b97f4a7c15ULL;
}

}  // namespace

int run_named(std::span<const Case> cases, int argc, char** argv) {
    const std::string_view wanted = argc > 1 ? argv[1] : "";
    for (const Case& each : cases) {
        if (wanted != each.name) continue;
        each.run();
        if (failures() == 0) printf("%s: as expected\n", each.name);
        fflush(stdout);
        return failures() == 0 ? 0 : 1;
    }
    fprintf(stderr, "no case named '%s'; there are:", argc > 1 ? argv[1] : "");
    for (const Case& each : cases) fprintf(stderr, " %s", each.name);
    fprintf(stderr, "\n");
    return 2;
}

bool expect(bool held, const char* what) {
    if (held) return true;
    ++failures();
    printf("not so: %s\n", what);
    return false;
}

bool expect_equal(const char* what, long long found, long long expected) {
    if (found == expected) return true;
    ++failures();
    printf("%s: %lld instead of %lld\n", what, found, expected);
    return false;
}

void skip(const char* reason) {
    printf("skipped: %s\n", reason);
    fflush(stdout);
    _exit(77);
}

void fail(const char* call) {
    printf("%s failed: %s\n", call, strerror(errno));
    fflush(stdout);
    _exit(1);
}

int work_ms() {
    const char* said = getenv("NO_HARM_MS");
    return said ? atoi(said) : 400;
}

double seconds_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

uint64_t busy(double milliseconds) {
    uint64_t value = 1;
    for (Span span(milliseconds); span.lasts();)
        for (int i = 0; i < 2000; ++i) value = mixed(value);
    return value;
}

bool computed_right(unsigned rounds) {
    // A permutation and its inverse: after both the value is what it was.
    uint64_t value = 0x0123456789abcdefULL;
    for (unsigned i = 0; i < rounds; ++i) value = (value ^ (value << 7)) * 3 + i;
    for (unsigned i = rounds; i-- > 0;) {
        value = (value - i) * 0xaaaaaaaaaaaaaaabULL;  // the inverse of 3 modulo 2^64
        uint64_t shifted = value;
        for (int step = 0; step < 9; ++step) shifted = value ^ (shifted << 7);
        value = shifted;
    }
    return value == 0x0123456789abcdefULL;
}

void sleep_ms(double milliseconds) {
    timespec left{static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds * 1e6) % 1'000'000'000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    must(sigaction(signal, &action, nullptr), "sigaction");
}

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) fail("waitpid");
    return status;
}

void* shared_bytes(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    return memory;
}

}  // namespace no_harm
