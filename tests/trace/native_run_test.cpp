#include "trace/native_run.h"

#if defined(__x86_64__)

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "base/fd.h"
#include "base/file.h"
#include "model/llvm/decoder.h"
#include "tests/trace/copied_program.h"
#include "trace/copy_calls.h"

namespace tmaprobe::trace {
namespace {

constexpr double ms = 1e6;

/// A copy of a program that can be let run.
class Running {
  public:
    explicit Running(Snapshot snapshot)
        : calls(snapshot),
          decoder(std::move(*model::core::make_decoder("x86_64"))),
          process(TracedProcess::of_copy(snapshot.release())),
          tracer(process, *decoder, false) {
        tracer.on_system_call = [this](TracedProcess& copy, Registers& registers) {
            return static_cast<Tracer::CallAnswer>(calls(copy, registers));
        };
        if (snapshot.time_stamp) tracer.time_stamp = [this, begin = *snapshot.time_stamp] { return begin + ticks; };
    }
    NativeRun::Ran run_for(double processor_ns) {
        auto ran = NativeRun(process, tracer).run_for(processor_ns, [] { return true; });
        EXPECT_TRUE(ran) << ran.error().what;
        if (!ran) return {0, 0, true, {}};
        ticks += ran->ticks;
        return *ran;
    }

    CopyCalls calls;
    std::unique_ptr<Decoder> decoder;
    TracedProcess process;
    Tracer tracer;
    std::uint64_t ticks = 0;
};

std::uint64_t word_at(const TracedProcess& process, const void* address) {
    std::uint64_t value = 0;
    EXPECT_EQ(process.read(reinterpret_cast<std::uint64_t>(address), &value, sizeof value), sizeof value);
    return value;
}

// What the copy has of these is its own.
std::uint64_t turns = 0, thousands = 0, last_time = 0, went_back = 0;

void count_up(volatile std::uint64_t& number) { number = number + 1; }

TEST(NativeRun, OfWhatMakesCallsAllTheTimeIsOverInTime) {
    Program program([](Board& board) {
        const int nowhere = ::open("/dev/null", O_WRONLY);
        board.ready = 1;
        while (board.go_on) {
            for (int i = 0; i < 200; ++i) count_up(turns);
            if (::write(nowhere, "x", 1) != 1) return 1;
        }
        return 0;
    });
    auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << attempt.why;
    Running copy(std::move(*attempt.snapshot));
    const auto ran = copy.run_for(5 * ms);
    EXPECT_FALSE(ran.ended);
    EXPECT_GE(ran.processor_ns, 5 * ms);
    EXPECT_LT(ran.processor_ns, 50 * ms) << "it went on from one late call to the next";
}

TEST(NativeRun, IsStoppedByAStoreThatIsWatched) {
    Program program([](Board& board) {
        board.ready = 1;
        while (board.go_on) {
            count_up(turns);
            if (turns % 1000 == 0) count_up(thousands);
        }
        return 0;
    });
    auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << attempt.why;
    Running copy(std::move(*attempt.snapshot));
    HardwareWatch watch(copy.process.pid());
    if (!watch.set({{reinterpret_cast<std::uint64_t>(&went_back), false},
                    {reinterpret_cast<std::uint64_t>(&thousands), false}}))
        GTEST_SKIP() << "debug registers cannot be had here";
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t before = word_at(copy.process, &thousands);
        const auto ran = NativeRun(copy.process, copy.tracer).run_for(1e9, [] { return true; }, &watch);
        ASSERT_TRUE(ran) << ran.error().what;
        EXPECT_FALSE(ran->ended);
        EXPECT_EQ(ran->met, 1u);
        EXPECT_EQ(word_at(copy.process, &thousands), before + 1);
        EXPECT_EQ(word_at(copy.process, &turns) % 1000, 0u);
    }
    // No longer watched, it runs for its time.
    watch.clear();
    const auto ran = copy.run_for(5 * ms);
    EXPECT_FALSE(ran.ended);
    EXPECT_FALSE(ran.met);
}

TEST(NativeRun, LetsACopyRunForItsTimeAndTheTracerGoOn) {
    Program program([](Board& board) {
        board.ready = 1;
        while (board.go_on) count_up(turns);
        return 0;
    });
    auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << attempt.why;
    Running copy(std::move(*attempt.snapshot));
    const std::uint64_t before = word_at(copy.process, &turns);
    const auto ran = copy.run_for(20 * ms);
    EXPECT_FALSE(ran.ended);
    EXPECT_GE(ran.processor_ns, 20 * ms);
    const std::uint64_t after = word_at(copy.process, &turns);
    EXPECT_GT(after, before + 100'000);
    Trace trace;
    const auto traced = copy.tracer.trace(1000, trace);
    ASSERT_TRUE(traced);
    EXPECT_EQ(traced->steps, 1000u);
    EXPECT_GT(word_at(copy.process, &turns), after);
    EXPECT_FALSE(copy.run_for(1 * ms).ended);
    EXPECT_EQ(program.end(), 0);
}

TEST(NativeRun, NothingThatItWritesArrives) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const Fd from(ends[0]), to(ends[1]);
    // One that writes, from the moment on in which its copy is told to.
    Program writer([&](Board& board) {
        board.ready = 1;
        std::uint64_t told = 0;
        while (board.go_on) {
            for (int i = 0; i < 1000; ++i) count_up(turns);
            if (board.seen && ::write(to.get(), "x", 1) == 1) ++told;
        }
        return told == 0 ? 0 : 1;
    });
    auto attempt = copy_of(writer.pid());
    ASSERT_TRUE(attempt.snapshot) << attempt.why;
    Running copy(std::move(*attempt.snapshot));
    // Its board is its own by now.
    const int yes = 1;
    ASSERT_TRUE(copy.process.write(reinterpret_cast<std::uint64_t>(&writer.board().seen), &yes, sizeof yes));
    const auto ran = copy.run_for(10 * ms);
    EXPECT_FALSE(ran.ended) << "answered as if it had been written";
    char byte = 0;
    EXPECT_EQ(::read(from.get(), &byte, 1), -1) << "a copy wrote";
    EXPECT_EQ(writer.end(), 0);
}

TEST(NativeRun, EndsBeforeItReachesBeyondItself) {
    const std::string path = ::testing::TempDir() + "native_run_" + std::to_string(::getpid());
    Program program([&](Board& board) {
        board.ready = 1;
        while (board.go_on) {
            for (int i = 0; i < 1000; ++i) count_up(turns);
            if (board.seen) ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
        }
        return 0;
    });
    auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << attempt.why;
    Running copy(std::move(*attempt.snapshot));
    const int yes = 1;
    ASSERT_TRUE(copy.process.write(reinterpret_cast<std::uint64_t>(&program.board().seen), &yes, sizeof yes));
    const auto ran = copy.run_for(10'000 * ms);
    EXPECT_TRUE(ran.ended);
    EXPECT_EQ(copy.calls.ended(), EndedBy::files);
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
    EXPECT_EQ(program.end(), 0);
}

TEST(NativeRun, TimeGoesOnFromWhereTheTracerHasIt) {
    Program program([](Board& board) {
        board.ready = 1;
        while (board.go_on) {
            const std::uint64_t now = __builtin_ia32_rdtsc();
            if (now < last_time) ++went_back;
            last_time = now;
        }
        return 0;
    });
    auto attempt = copy_of(program.pid());
    ASSERT_TRUE(attempt.snapshot) << attempt.why;
    if (!attempt.snapshot->time_stamp) GTEST_SKIP() << "the clocks of copies are not stopped here";
    const std::uint64_t begin = *attempt.snapshot->time_stamp;
    Running copy(std::move(*attempt.snapshot));
    ::usleep(100'000);  // in which no time goes by for the copy
    const std::uint64_t began = __builtin_ia32_rdtsc();
    const std::uint64_t before = word_at(copy.process, &went_back);
    EXPECT_FALSE(copy.run_for(2 * ms).ended);
    Trace trace;
    ASSERT_TRUE(copy.tracer.trace(1000, trace));
    EXPECT_FALSE(copy.run_for(2 * ms).ended);
    EXPECT_EQ(word_at(copy.process, &went_back), before);
    const std::uint64_t last = word_at(copy.process, &last_time);
    EXPECT_GT(last, begin);
    EXPECT_LT(last, begin + (__builtin_ia32_rdtsc() - began)) << "as if what we waited had been its time";
    EXPECT_EQ(program.end(), 0);
}

}  // namespace
}  // namespace tmaprobe::trace

#endif
