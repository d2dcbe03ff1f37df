// Marks of regions, rightly used and not: whoever listens to them does nothing to the program.
#include <sys/resource.h>
#include <sys/time.h>
#include <tmaprobe/region.h>

#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

bool computes_in(const char* name) {
    const tmaprobe::region region(name);
    return computed_right(20);
}

void nested() {
    bool right = true;
    for (Span span; span.lasts();) {
        TMAPROBE_REGION_BEGIN("outer");
        for (int i = 0; i < 10; ++i) right = right && computes_in("inner");
        TMAPROBE_REGION_END_COUNTED("outer", 10, 640);
    }
    expect(right, "computed right");
}

/// Ends without a begin, begins without an end, ends in the wrong order, no names, too many, too deep.
void misused() {
    const std::string long_name(1000, 'x');
    bool right = true;
    int round = 0;
    for (Span span; span.lasts(); ++round) {
        TMAPROBE_REGION_END("never begun");
        TMAPROBE_REGION_BEGIN("never ended");
        TMAPROBE_REGION_BEGIN("one");
        TMAPROBE_REGION_BEGIN("other");
        right = right && computed_right(20);
        TMAPROBE_REGION_END("one");
        TMAPROBE_REGION_END("other");
        tmaprobe_region_begin(nullptr);
        tmaprobe_region_begin("");
        tmaprobe_region_begin(long_name.c_str());
        tmaprobe_region_begin("\xff\xfe no \x01 text");
        tmaprobe_region_begin(("one of many " + std::to_string(round)).c_str());
        tmaprobe_region_end(long_name.c_str(), ~0ull, ~0ull);
    }
    expect(right, "computed right");
}

void across_threads() {
    std::atomic<bool> right{true};
    for (Span span; span.lasts();) {
        TMAPROBE_REGION_BEGIN("of the first thread");
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                TMAPROBE_REGION_END("of the first thread");
                if (!computes_in("of a thread")) right = false;
                TMAPROBE_REGION_BEGIN("left open by a thread");
            });
        for (auto& thread : threads) thread.join();
        TMAPROBE_REGION_END("of the first thread");
    }
    expect(right, "computed right");
}

std::atomic<long> handled{0};

/// Handlers have marks between those of what they interrupt.
void in_handlers() {
    handle(SIGALRM, [](int, siginfo_t*, void*) {
        const int before = errno;
        const tmaprobe::region region("handler");
        ++handled;
        errno = before;
    });
    itimerval often = {{0, 1000}, {0, 1000}};
    must(setitimer(ITIMER_REAL, &often, nullptr), "setitimer");
    bool right = true;
    for (Span span; span.lasts();) right = right && computes_in("interrupted");
    often = {};
    must(setitimer(ITIMER_REAL, &often, nullptr), "setitimer");
    expect(handled > 0, "handled");
    expect(right, "computed right");
}

void across_forks() {
    bool right = true;
    for (Span span; span.lasts();) {
        TMAPROBE_REGION_BEGIN("parent");
        const pid_t child = child_of([] {
            const bool computed = computes_in("child");
            TMAPROBE_REGION_END("parent");
            return computed ? 7 : 8;
        });
        const int status = wait_for(child);
        right = right && WIFEXITED(status) && WEXITSTATUS(status) == 7;
        TMAPROBE_REGION_END("parent");
    }
    expect(right, "its children ended with 7");
}

/// No file may be opened when the first mark comes, and hardly any memory may be mapped.
void without_room() {
    const rlimit none = {0, 0};
    must(setrlimit(RLIMIT_NOFILE, &none), "setrlimit");
    bool right = true;
    errno = 0;
    for (Span span; span.lasts();) right = right && computes_in("without files");
    expect_equal("errno", errno, 0);
    expect(right, "computed right");
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"nested", nested},           {"misused", misused},           {"across_threads", across_threads},
        {"in_handlers", in_handlers}, {"across_forks", across_forks}, {"without_room", without_room},
    };
    return run_named(cases, argc, argv);
}
