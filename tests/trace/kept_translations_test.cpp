#include <gtest/gtest.h>

#if defined(__x86_64__)

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>

#include "base/file.h"
#include "model/llvm/decoder.h"
#include "tests/trace/copied_program.h"
#include "trace/copy_calls.h"
#include "trace/translator.h"

// What was translated of one copy of a program goes on in the next one.
namespace tmaprobe::trace {
namespace {

// What the copy has of these is its own.
std::uint64_t turns = 0, answered = 0;

/// On a page of its own, so that the program can change it: what a file's text is, and no data.
[[gnu::aligned(4096), gnu::noinline]] std::uint64_t answer() {
    std::uint64_t value;
    asm volatile(".byte 0xb8, 1, 0, 0, 0\n.skip 4096, 0x90\n" : "=a"(value));
    return value;
}

void answer_from_now_on(std::uint8_t value) {
    constexpr std::uintptr_t page = 4096, pages = 3;
    void* code = nullptr;
    std::uint64_t (*const function)() = answer;
    std::memcpy(&code, &function, sizeof code);
    ::mprotect(code, pages * page, PROT_READ | PROT_WRITE | PROT_EXEC);
    auto* at = static_cast<std::uint8_t*>(code);
    while (at[0] != 0xb8) ++at;
    at[1] = value;
    ::mprotect(code, pages * page, PROT_READ | PROT_EXEC);
}

int keep_answering(Board& board) {
    board.ready = 1;
    for (int asked = 0; board.go_on;) {
        answered = answer();
        turns = turns + 1;
        ++board.rounds;
        if (const int wanted = board.seen; wanted != asked) answer_from_now_on(static_cast<std::uint8_t>(wanted));
        asked = board.seen;
    }
    return 0;
}

std::uint64_t word_at(const TracedProcess& process, const std::uint64_t& word) {
    std::uint64_t value = 0;
    EXPECT_EQ(process.read(reinterpret_cast<std::uint64_t>(&word), &value, sizeof value), sizeof value);
    return value;
}

/// A copy that is followed for some turns with what is known of it.
struct FollowedCopy {
    std::size_t known = 0, instructions = 0;  ///< before and after
    std::uint64_t turns = 0, turns_seen = 0, answer = 0, area = 0;
    Translator::Translations translations;
};

/// Where the translator is in a process.
std::uint64_t area_in(pid_t process, const Translator& translator) {
    const auto maps = read_file("/proc/" + std::to_string(process) + "/maps");
    for (std::size_t at = 0; maps && at < maps->size(); at = maps->find('\n', at) + 1) {
        const std::uint64_t begin = std::stoull(maps->substr(at), nullptr, 16);
        if (translator.has_for_itself(begin)) return begin;
    }
    return 0;
}

FollowedCopy follow_copy(const Program& program, Decoder& decoder, Translator::Translations known) {
    constexpr std::size_t steps = 200'000;
    FollowedCopy followed;
    SnapshotAttempt attempt = copy_of(program.pid());
    EXPECT_TRUE(attempt.snapshot);
    if (!attempt.snapshot) return followed;
    TracedProcess process = TracedProcess::of_copy(attempt.snapshot->release());
    Tracer tracer(process, decoder, false);
    Translator translator(process, tracer, std::move(known));
    followed.known = translator.instructions().size();
    const std::uint64_t before = word_at(process, turns);
    const auto traced = translator.steps(steps, [&](const StaticInstruction&, const Step& step) {
        followed.turns_seen += step.store == reinterpret_cast<std::uint64_t>(&turns);
    });
    EXPECT_TRUE(traced && traced->ended_early == EndedEarly::none && translator.translates());
    followed.instructions = translator.instructions().size();
    followed.turns = word_at(process, turns) - before;
    followed.answer = word_at(process, answered);
    followed.area = area_in(process.pid(), translator);
    followed.translations = translator.take();
    return followed;
}

class KeptTranslations : public testing::Test {
  protected:
    KeptTranslations() : decoder(std::move(*model::core::make_decoder("x86_64"))), program(keep_answering) {}
    FollowedCopy follow_next(Translator::Translations known) {
        return follow_copy(program, *decoder, std::move(known));
    }
    static void expect_whole(const FollowedCopy& followed, std::uint64_t answer) {
        EXPECT_GT(followed.turns, 10U);
        EXPECT_EQ(followed.turns, followed.turns_seen);
        EXPECT_EQ(followed.answer, answer);
    }
    std::unique_ptr<Decoder> decoder;
    Program program;
};

TEST_F(KeptTranslations, GoOnInTheNextCopyWhereTheyWere) {
    FollowedCopy first = follow_next({});
    expect_whole(first, 1);
    EXPECT_EQ(first.known, 0U);
    FollowedCopy second = follow_next(std::move(first.translations));
    expect_whole(second, 1);
    EXPECT_EQ(second.known, first.instructions) << "numbered on";
    EXPECT_LE(second.instructions, second.known + 20) << "little is translated anew";
    EXPECT_EQ(second.area, first.area);
    const FollowedCopy third = follow_next(std::move(second.translations));
    expect_whole(third, 1);
    EXPECT_LE(third.instructions, third.known + 20);
}

TEST_F(KeptTranslations, AreDroppedWhereTheCodeIsAnother) {
    FollowedCopy first = follow_next({});
    expect_whole(first, 1);
    program.board().seen = 2;
    const std::uint64_t changed = program.board().rounds + 2;
    for (int waited_ms = 0; program.board().rounds < changed && waited_ms < 10'000; ++waited_ms) ::usleep(1000);
    expect_whole(follow_next(std::move(first.translations)), 2);
}

TEST_F(KeptTranslations, BeginAnewWhereTheirPlaceIsTaken) {
    constexpr std::size_t library_bytes = 1 << 21;
    FollowedCopy first = follow_next({});
    ASSERT_NE(first.area, 0U);
    // Another program of the same code, which has something there.
    Program other([at = first.area](Board& board) {
        ::mmap(reinterpret_cast<void*>(at), library_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        return keep_answering(board);
    });
    const FollowedCopy second = follow_copy(other, *decoder, std::move(first.translations));
    expect_whole(second, 1);
    EXPECT_NE(second.area, first.area);
}

}  // namespace
}  // namespace tmaprobe::trace

#endif
