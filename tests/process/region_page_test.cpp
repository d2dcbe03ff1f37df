#include "process/region_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tmaprobe/region.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace tmaprobe::process {
namespace {

/// A program with marks: a child that has not asked yet whether somebody listens. Its exit status; -1: a signal.
int run_marked(const std::string& variable, const std::function<int()>& program) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv(RegionPage::variable, variable.c_str(), 1);
        ::_exit(program());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Sum {
    std::uint64_t begins = 0, iterations = 0, bytes = 0, wrong_ends = 0, not_ended = 0, open = 0;
    double time_ns = 0, inner_ns = 0;
    std::size_t threads = 0;
};

Sum sum_of(const RegionPage& page, const std::string& name) {
    const auto names = page.names();
    Sum sum;
    for (const RegionCounts& one : page.counts()) {
        if (names.at(one.region) != name) continue;
        sum.begins += one.begins;
        sum.iterations += one.iterations;
        sum.bytes += one.bytes;
        sum.wrong_ends += one.wrong_ends;
        sum.not_ended += one.not_ended;
        sum.open += one.open;
        sum.time_ns += one.time_ns;
        sum.inner_ns += one.inner_ns;
        ++sum.threads;
    }
    return sum;
}

RegionPage new_page() {
    auto page = RegionPage::create();
    EXPECT_TRUE(page) << page.error().what;
    return std::move(*page);
}

void wait_ms(int milliseconds) { ::usleep(static_cast<useconds_t>(1000 * milliseconds)); }

TEST(RegionPage, CountsEntriesIterationsAndBytes) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             for (int i = 0; i < 10; ++i) {
                                 TMAPROBE_REGION_BEGIN("work");
                                 TMAPROBE_REGION_END_COUNTED("work", 5, 64);
                             }
                             return 0;
                         }),
              0);
    EXPECT_THAT(page.names(), testing::ElementsAre("work"));
    const Sum work = sum_of(page, "work");
    EXPECT_EQ(work.begins, 10u);
    EXPECT_EQ(work.iterations, 50u);
    EXPECT_EQ(work.bytes, 640u);
    EXPECT_EQ(work.open + work.wrong_ends + work.not_ended, 0u);
}

TEST(RegionPage, TimeIsThatFromBeginToEnd) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             tmaprobe::region outer("outer");
                             wait_ms(20);
                             {
                                 TMAPROBE_REGION_SCOPE("inner");
                                 wait_ms(30);
                             }
                             return 0;
                         }),
              0);
    const Sum outer = sum_of(page, "outer"), inner = sum_of(page, "inner");
    EXPECT_GE(outer.time_ns, 50e6 * 0.99);
    EXPECT_GE(inner.time_ns, 30e6 * 0.99);
    EXPECT_NEAR(outer.inner_ns, inner.time_ns, 0.001 * inner.time_ns);
    EXPECT_GE(outer.time_ns - outer.inner_ns, 20e6 * 0.99);
}

void recurse(int depth) {
    tmaprobe::region r("deep");
    if (depth > 0) recurse(depth - 1);
    if (depth == 0) wait_ms(20);
}

TEST(RegionPage, TimeOfARecursionCountsOnce) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(), [] { return recurse(9), 0; }), 0);
    const Sum deep = sum_of(page, "deep");
    EXPECT_EQ(deep.begins, 10u);
    EXPECT_GE(deep.time_ns, 20e6 * 0.99);
    EXPECT_NEAR(deep.inner_ns, 0, 0.001 * deep.time_ns);  // all of it is its own
}

TEST(RegionPage, OwnTimesOfRegionsInOneAnotherAddUp) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             tmaprobe::region a("a");
                             tmaprobe::region b("b");
                             tmaprobe::region again("a");
                             wait_ms(10);
                             return 0;
                         }),
              0);
    const Sum a = sum_of(page, "a"), b = sum_of(page, "b");
    EXPECT_NEAR((a.time_ns - a.inner_ns) + (b.time_ns - b.inner_ns), a.time_ns, 0.001 * a.time_ns);
}

TEST(RegionPage, EachThreadHasItsOwn) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             const auto work = [] {
                                 for (int i = 0; i < 1000; ++i) tmaprobe::region r("work");
                             };
                             std::thread one(work), other(work);
                             work();
                             one.join();
                             other.join();
                             return 0;
                         }),
              0);
    EXPECT_EQ(sum_of(page, "work").begins, 3000u);
    EXPECT_EQ(sum_of(page, "work").threads, 3u);
}

TEST(RegionPage, MoreThreadsThanThereIsRoomForOneAfterAnother) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             for (int i = 0; i < 700; ++i) std::thread([] { tmaprobe::region r("work"); }).join();
                             return 0;
                         }),
              0);
    EXPECT_EQ(sum_of(page, "work").begins, 700u);
    EXPECT_EQ(page.left_out().threads, 0u);
}

TEST(RegionPage, TheChildOfAForkGoesOnInside) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             TMAPROBE_REGION_BEGIN("both");
                             const pid_t child = ::fork();
                             TMAPROBE_REGION_BEGIN("each");
                             TMAPROBE_REGION_END("each");
                             TMAPROBE_REGION_END("both");
                             if (child == 0) ::_exit(0);
                             int status = 0;
                             ::waitpid(child, &status, 0);
                             return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
                         }),
              0);
    EXPECT_EQ(sum_of(page, "both").begins, 1u);
    EXPECT_EQ(sum_of(page, "both").wrong_ends, 0u);
    EXPECT_EQ(sum_of(page, "both").open, 0u);
    EXPECT_EQ(sum_of(page, "each").begins, 2u);
    EXPECT_EQ(sum_of(page, "each").threads, 2u);
}

TEST(RegionPage, MistakesAreCountedAndDoNothing) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             TMAPROBE_REGION_END("never begun");
                             TMAPROBE_REGION_BEGIN("outer");
                             TMAPROBE_REGION_BEGIN("forgotten");
                             TMAPROBE_REGION_END("outer");
                             TMAPROBE_REGION_BEGIN("left");
                             std::thread([] { TMAPROBE_REGION_END("left"); }).join();
                             tmaprobe_region_begin(nullptr);
                             tmaprobe_region_end(nullptr, 0, 0);
                             return 0;
                         }),
              0);
    EXPECT_EQ(sum_of(page, "never begun").wrong_ends, 1u);
    EXPECT_EQ(sum_of(page, "forgotten").not_ended, 1u);
    EXPECT_EQ(sum_of(page, "outer").not_ended, 0u);
    EXPECT_EQ(sum_of(page, "left").wrong_ends, 1u);  // on the other thread
    EXPECT_EQ(sum_of(page, "left").open, 1u);
    EXPECT_EQ(sum_of(page, "").begins, 1u);
}

TEST(RegionPage, TooManyAndTooDeepAreLeftOut) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             for (int i = 0; i < 300; ++i) {
                                 const std::string name = "region " + std::to_string(i);
                                 tmaprobe_region_begin(name.c_str());
                                 tmaprobe_region_end(name.c_str(), 1, 0);
                             }
                             for (int i = 0; i < 1000; ++i) tmaprobe_region_begin("region 0");
                             for (int i = 0; i < 1000; ++i) tmaprobe_region_end("region 0", 0, 0);
                             return 0;
                         }),
              0);
    EXPECT_EQ(page.names().size(), 128u);
    EXPECT_EQ(page.left_out().regions, 300u - 128u);
    EXPECT_EQ(page.left_out().depth, 1000u - 120u);
    EXPECT_EQ(sum_of(page, "region 0").open, 0u);
    EXPECT_EQ(sum_of(page, "region 0").wrong_ends, 0u);
}

TEST(RegionPage, LongNamesAreCutAndBytesThatAreNoTextReplaced) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             const std::string longest(1000, 'x');
                             tmaprobe_region_begin(longest.c_str());
                             tmaprobe_region_end(longest.c_str(), 0, 0);
                             tmaprobe_region_begin("\xff<b>");
                             tmaprobe_region_end("\xff<b>", 0, 0);
                             return 0;
                         }),
              0);
    EXPECT_THAT(page.names(), testing::ElementsAre(std::string(119, 'x'), "\xef\xbf\xbd<b>"));
}

TEST(RegionPage, WithoutAPageOrWithABrokenOneTheProgramGoesOn) {
    const std::string folder = ::testing::TempDir() + "region_page_test";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/empty").close();
    std::ofstream(folder + "/noise") << std::string(10'000'000, 'x');
    const auto program = [] {
        errno = 77;
        TMAPROBE_REGION_BEGIN("work");
        TMAPROBE_REGION_END("work");
        return errno == 77 ? 3 : 4;
    };
    for (const std::string& variable : {std::string(), std::string("x"), std::string("/nowhere/at/all"), folder,
                                        folder + "/empty", folder + "/noise", std::string("/dev/null")})
        EXPECT_EQ(run_marked(variable, program), 3) << variable;
    std::string gone;
    {
        const RegionPage page = new_page();
        gone = page.path();
    }
    EXPECT_FALSE(std::filesystem::exists(gone));
    EXPECT_EQ(run_marked(gone, program), 3);
    // Of the right size, and not ours.
    {
        const RegionPage page = new_page();
        std::filesystem::copy_file(page.path(), folder + "/other", std::filesystem::copy_options::overwrite_existing);
        std::fstream(folder + "/other") << "other";
    }
    EXPECT_EQ(run_marked(folder + "/other", program), 3);
    std::filesystem::remove_all(folder);
}

TEST(RegionPage, ThePageMayGoWhileTheProgramRuns) {
    auto page = std::make_unique<RegionPage>(new_page());
    const std::string path = page->path();
    EXPECT_EQ(run_marked(path,
                         [&] {
                             TMAPROBE_REGION_BEGIN("work");
                             ::unlink(path.c_str());
                             TMAPROBE_REGION_END("work");
                             return 0;
                         }),
              0);
    EXPECT_EQ(sum_of(*page, "work").begins, 1u);
}

TEST(RegionPage, ErrnoStays) {
    const RegionPage page = new_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             errno = 77;
                             TMAPROBE_REGION_BEGIN("work");
                             TMAPROBE_REGION_END("work");
                             return errno;
                         }),
              77);
}

TEST(RegionMarks, AreSeenInTheFile) {
    EXPECT_TRUE(has_region_marks("/proc/self/exe"));  // this test has some
    EXPECT_FALSE(has_region_marks("/bin/sh"));
    EXPECT_FALSE(has_region_marks("sh"));
    EXPECT_FALSE(has_region_marks("no such program"));
    EXPECT_FALSE(has_region_marks("/etc/passwd"));
    EXPECT_FALSE(has_region_marks("/"));
}

/// Events of the kernel's own, which need no PMU: what a thread's time is taken by, and its page faults.
CountedEvent software_event(std::uint64_t config, std::size_t leader) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = config;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP;
    CountedEvent event{std::vector<std::byte>(sizeof attributes), leader};
    std::memcpy(event.attributes.data(), &attributes, sizeof attributes);
    return event;
}

/// Some machines let nobody count: then a thread is refused, and that is known.
bool may_count() {
    perf_event_attr attributes{};
    const CountedEvent event = software_event(PERF_COUNT_SW_PAGE_FAULTS, 0);
    std::memcpy(&attributes, event.attributes.data(), sizeof attributes);
    const long file = ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    if (file >= 0) ::close(static_cast<int>(file));
    return file >= 0;
}

constexpr std::size_t touched_pages = 64;

/// So many page faults.
void touch_pages() {
    const std::size_t page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const memory =
        ::mmap(nullptr, touched_pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(memory, touched_pages * page_bytes, MADV_NOHUGEPAGE);
    for (std::size_t page = 0; page < touched_pages; ++page) static_cast<volatile char*>(memory)[page * page_bytes] = 1;
    ::munmap(memory, touched_pages * page_bytes);
}

RegionPage counting_page() {
    RegionPage page = new_page();
    page.count({software_event(PERF_COUNT_SW_DUMMY, 0), software_event(PERF_COUNT_SW_PAGE_FAULTS, 1)}, true);
    return page;
}

const RegionSums& sums_of(const RegionPage& page, const CountedRegions& counted, const std::string& name) {
    const auto names = page.names();
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    return counted.regions.at(static_cast<std::size_t>(at));
}

TEST(RegionPage, APairTakesLessThanTwoNanosecondsWhileNobodyListens) {
    EXPECT_EQ(
        run_marked(
            "",
            [] {
                constexpr int pairs = 10'000, tries = 300;
                const auto time_of = [](bool marked) {
                    const auto start = std::chrono::steady_clock::now();
                    for (int i = 0; i < pairs; ++i) {
                        if (marked) TMAPROBE_REGION_BEGIN("work");
                        __asm__ volatile("" : "+r"(i));
                        if (marked) TMAPROBE_REGION_END("work");
                    }
                    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
                };
                // The quickest of many: others on the machine only ever add to it.
                double with = 1e9, without = 1e9;
                for (int i = 0; i < tries; ++i) {
                    without = std::min(without, time_of(false));
                    with = std::min(with, time_of(true));
                }
                return (with - without) / pairs < 2 ? 0 : 1;
            }),
        0);
}

TEST(RegionPage, ThreadsCountTheirRegions) {
    const RegionPage page = counting_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             const auto work = [] {
                                 for (int round = 0; round < 10; ++round) {
                                     TMAPROBE_REGION_BEGIN("outer");
                                     TMAPROBE_REGION_BEGIN("touches");
                                     touch_pages();
                                     TMAPROBE_REGION_END("touches");
                                     TMAPROBE_REGION_BEGIN("recursion");
                                     TMAPROBE_REGION_BEGIN("recursion");
                                     TMAPROBE_REGION_END("recursion");
                                     TMAPROBE_REGION_END("recursion");
                                     TMAPROBE_REGION_END("outer");
                                 }
                             };
                             work();
                             std::thread(work).join();
                             const pid_t child = ::fork();
                             if (child == 0) {
                                 work();
                                 ::_exit(0);
                             }
                             int status = 0;
                             ::waitpid(child, &status, 0);
                             return WEXITSTATUS(status);
                         }),
              0);
    const CountedRegions counted = page.counted();
    if (!may_count()) {
        EXPECT_EQ(counted.threads, 0u);
        EXPECT_EQ(counted.threads_refused, 3u);
        EXPECT_GT(counted.refused.at(1), 0);
        return;
    }
    EXPECT_EQ(counted.threads, 3u);
    EXPECT_EQ(counted.threads_refused + counted.failed + counted.unread + counted.left_out, 0u);
    const RegionSums &outer = sums_of(page, counted, "outer"), &touches = sums_of(page, counted, "touches"),
                     &recursion = sums_of(page, counted, "recursion");
    constexpr std::uint64_t rounds = 30;
    EXPECT_EQ(touches.pieces, rounds);
    EXPECT_EQ(recursion.pieces, 3 * rounds) << "before, in and after the inner one, each once";
    EXPECT_EQ(outer.pieces, 7 * rounds);
    EXPECT_EQ(outer.own_pieces, 3 * rounds);
    EXPECT_GE(touches.events.at(1).value, rounds * touched_pages);
    EXPECT_GE(outer.events.at(1).value, touches.events.at(1).value);
    EXPECT_LT(recursion.events.at(1).value, rounds) << "no more than marks themselves take";
    EXPECT_GT(touches.enabled_ns, 0u);
    EXPECT_GE(outer.enabled_ns, touches.enabled_ns + recursion.enabled_ns);
    EXPECT_EQ(touches.events.at(1).running_ns, touches.enabled_ns);
    EXPECT_GE(touches.empty_pieces, rounds);
    EXPECT_GT(counted.marks_ns, 0u);
}

TEST(RegionPage, CountersTakeNoNumberThatAProgramExpects) {
    const RegionPage page = counting_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             const int before = ::dup(0);
                             ::close(before);
                             TMAPROBE_REGION_BEGIN("work");
                             TMAPROBE_REGION_END("work");
                             const int after = ::dup(0);
                             return before == after ? 0 : 1;
                         }),
              0);
}

TEST(RegionPage, AProgramThatClosesAllItsFilesGoesOn) {
    const RegionPage page = counting_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             TMAPROBE_REGION_BEGIN("work");
                             TMAPROBE_REGION_END("work");
                             for (int file = 3; file < 2048; ++file) ::close(file);
                             TMAPROBE_REGION_BEGIN("work");
                             touch_pages();
                             TMAPROBE_REGION_END("work");
                             return 0;
                         }),
              0);
    EXPECT_EQ(sum_of(page, "work").begins, 2u);
    const CountedRegions counted = page.counted();
    // Where the kernel shows them without a system call, nothing is lost.
    if (may_count() && counted.failed == 0) EXPECT_GE(sums_of(page, counted, "work").events.at(1).value, touched_pages);
}

TEST(RegionPage, ThreadsThatAreGoneLeaveNoCountersOpen) {
    const RegionPage page = counting_page();
    EXPECT_EQ(run_marked(page.path(),
                         [] {
                             const auto files = [] {
                                 return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
                             };
                             std::ptrdiff_t after_some = 0;
                             for (int i = 0; i < 50; ++i) {
                                 std::thread([] {
                                     TMAPROBE_REGION_BEGIN("work");
                                     TMAPROBE_REGION_END("work");
                                 }).join();
                                 if (i == 9) after_some = files();
                             }
                             return files() <= after_some + 1 ? 0 : 1;
                         }),
              0);
    EXPECT_EQ(sum_of(page, "work").begins, 50u);
    if (may_count()) EXPECT_EQ(page.counted().threads, 50u);
}

}  // namespace
}  // namespace tmaprobe::process
