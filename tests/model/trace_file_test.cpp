#include "model/trace_file.h"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.h"
#include "core_fixture.h"
#include "model/trace_encoding.h"
#include "model/trace_writer.h"

namespace tmaprobe::model {
namespace {

/// Two loads from a stream, a store, and a jump back.
trace::Trace loop(std::size_t steps, const std::function<std::uint64_t(std::size_t)>& address) {
    return core::trace_of({{0x48, 0x8b, 0x06}, {0x48, 0x8b, 0x0e}, {0x48, 0x89, 0x07}, {0xeb, 0xf5}}, steps, address);
}

struct Shown final : TraceVisitor {
    std::vector<std::string> what;
    std::vector<trace::Step> steps;
    std::vector<std::uint64_t> addresses;
    trace::PageMap page_map;
    std::size_t windows = 0;

    void pages(const trace::PageMap& pages) override { page_map = pages; }
    void moment(std::uint64_t resident) override { what.push_back("moment " + std::to_string(resident)); }
    void step(const trace::StaticInstruction& instruction, const trace::Step& step) override {
        steps.push_back(step);
        addresses.push_back(instruction.address);
    }
    Result<> window(const trace::Trace& trace) override {
        what.push_back("window " + std::to_string(trace.steps.size()));
        for (const auto& each : trace.steps) step(trace.instructions[each.instruction], each);
        ++windows;
        return {};
    }
};

class TraceFiles : public testing::Test {
  protected:
    std::string path_ = (std::filesystem::temp_directory_path() / ("trace." + std::to_string(::getpid()))).string();
    ~TraceFiles() override { std::filesystem::remove(path_); }

    /// All but the last 100 steps before a window, these in it.
    void write(const trace::Trace& trace, std::uint64_t page_bytes = 4096) {
        const auto writer = TraceWriter::create(path_, {"x86_64", "GenuineIntel-6-6A", "./a 'b c'", "2"});
        ASSERT_TRUE(writer);
        (*writer)->pages([=](std::uint64_t) { return page_bytes; });
        (*writer)->moment(123456);
        trace::Trace window{trace.instructions, {trace.steps.end() - 100, trace.steps.end()}};
        for (std::size_t i = 0; i + 100 < trace.steps.size(); ++i)
            (*writer)->step(trace.instructions[trace.steps[i].instruction], trace.steps[i]);
        EXPECT_EQ((*writer)->window(window), 0u);
        ASSERT_TRUE((*writer)->finish({{2.5, {0}}}, true));
    }
    static void expect_same(const trace::Trace& trace, const Shown& shown) {
        ASSERT_EQ(shown.steps.size(), trace.steps.size());
        for (std::size_t i = 0; i < trace.steps.size(); ++i) {
            ASSERT_EQ(shown.addresses[i], trace.instructions[trace.steps[i].instruction].address) << i;
            ASSERT_EQ(shown.steps[i].load, trace.steps[i].load) << i;
            ASSERT_EQ(shown.steps[i].store, trace.steps[i].store) << i;
        }
    }
    Result<Shown> show() {
        auto file = TraceFile::open(path_);
        if (!file) return pass_on(file);
        auto decoder = core::make_decoder("x86_64");
        Shown shown;
        if (const auto done = file->show(**decoder, shown); !done) return pass_on(done);
        return shown;
    }
};

TEST_F(TraceFiles, ComeBackAsTheyWereWritten) {
    std::mt19937_64 random(1);
    for (const bool by_chance : {false, true}) {
        const auto trace = loop(20000, [&](std::size_t k) {
            return by_chance ? random() >> 17 | 1 : std::uint64_t{0x7f0000001000} + 8 * k;
        });
        write(trace);
        const auto shown = show();
        ASSERT_TRUE(shown) << shown.error().what;
        expect_same(trace, *shown);
        EXPECT_THAT(shown->what, testing::ElementsAre("moment 123456", "window 100"));
    }
}

TEST_F(TraceFiles, SayWhatTheyAreOf) {
    write(loop(1000, [](std::size_t k) { return 4096 + 8 * k; }));
    const auto file = TraceFile::open(path_);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->header().architecture, "x86_64");
    EXPECT_EQ(file->header().cpu_id, "GenuineIntel-6-6A");
    EXPECT_EQ(file->header().workload, "./a 'b c'");
    EXPECT_TRUE(file->weighted());
    EXPECT_EQ(file->steps(), 1000u);
    ASSERT_EQ(file->moments().size(), 1u);
    EXPECT_DOUBLE_EQ(file->moments()[0].stands_for, 2.5);
    EXPECT_THAT(file->moments()[0].windows, testing::ElementsAre(0u));
}

TEST_F(TraceFiles, AreSmallEvenWhereAddressesAreByChance) {
    std::mt19937_64 random(1);
    const std::size_t steps = 200000;
    write(loop(steps, [&](std::size_t k) { return 0x7f0000001000 + 8 * k; }));
    EXPECT_LT(std::filesystem::file_size(path_), steps / 20);
    // Of four instructions three go somewhere else within 64 MiB each time: 26 bits, which nothing foretells.
    write(loop(steps, [&](std::size_t) { return 0x7f0000001000 + random() % (64u << 20); }));
    EXPECT_LT(std::filesystem::file_size(path_), steps * 7 / 2);
}

TEST_F(TraceFiles, KnowLargePages) {
    write(loop(1000, [](std::size_t k) { return 0x40000000 + 8 * k; }), 2u << 20);
    const auto shown = show();
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->page_map.page_bytes(0x40000000), 2u << 20);
    EXPECT_EQ(shown->page_map.page_bytes(0x80000000), 4096u);
}

TEST_F(TraceFiles, HaveTheMappingsOfTheirProcesses) {
    process::MemoryMapping program, heap;
    program.begin = 0x400000;
    program.end = 0x402000;
    program.offset = 0x1000;
    program.inode = 77;
    program.path = "/usr/bin/a b";
    program.executable = true;
    heap.begin = 0x10000000;
    heap.end = 0x10200000;
    heap.path = "[heap]";
    heap.writable = true;
    const auto trace = loop(1000, [](std::size_t k) { return 4096 + 8 * k; });
    const auto writer = TraceWriter::create(path_, {"x86_64", "", "./a", "2"});
    ASSERT_TRUE(writer);
    EXPECT_EQ((*writer)->window(trace), 0u);
    EXPECT_EQ((*writer)->window(trace), 1u);
    WindowFacts first, second;
    first.logged = {0};
    second.logged = {1};
    second.mappings = {program, heap};
    ASSERT_EQ(finish_trace(writer->get(), {first, second}, true), "");
    const auto file = TraceFile::open(path_);
    ASSERT_TRUE(file) << file.error().what;
    ASSERT_EQ(file->mappings().size(), 1u);
    program.inode = 1;  // which file it was on the other machine nobody asks
    EXPECT_EQ(file->mappings()[0], (std::vector{program, heap}));
    EXPECT_EQ(file->moments()[0].mappings, TraceMoment::no_mappings);
    EXPECT_EQ(file->moments()[1].mappings, 0u);
    // What warms caches before a window is of the same process.
    EXPECT_EQ(file->mappings_of_window(0), 0u);
    EXPECT_EQ(file->mappings_of_window(1), 0u);
}

TEST_F(TraceFiles, TellWhichStepsAreInTheRegionThatIsAskedAbout) {
    auto trace = loop(1000, [](std::size_t k) { return 4096 + 8 * k; });
    for (std::size_t i = 0; i < trace.steps.size(); ++i) trace.steps[i].regions = i / 100 % 3;  // paths 0, 1, 2
    const auto writer = TraceWriter::create(path_, {"x86_64", "", "./a", "2"});
    ASSERT_TRUE(writer);
    (*writer)->window(trace, [](std::uint32_t path) { return path == 2; });
    (*writer)->window(trace);
    ASSERT_TRUE((*writer)->finish({{1, {0, 1}}}, true));
    const auto file = TraceFile::open(path_);
    ASSERT_TRUE(file) << file.error().what;
    Shown shown;
    const auto decoder = core::make_decoder("x86_64");
    ASSERT_TRUE(file->show(**decoder, shown));
    ASSERT_EQ(shown.steps.size(), 2000u);
    for (std::size_t i = 0; i < 1000; ++i)
        ASSERT_EQ(shown.steps[i].regions, i / 100 % 3 == 2 ? TraceFile::in_region : 0) << i;
    for (std::size_t i = 1000; i < 2000; ++i) ASSERT_EQ(shown.steps[i].regions, 0u) << "nobody asked about one";
}

/// A trace of the first version is one of this without mappings: the mark, and a last block that ends before them.
TEST_F(TraceFiles, OfTheFirstVersionAreReadWithoutMappings) {
    const auto whole = [](const std::string& bytes) { return std::vector<std::uint8_t>(bytes.begin(), bytes.end()); };
    const auto block = [](const std::vector<std::uint8_t>& raw) {
        std::string packed(ZSTD_compressBound(raw.size()), 0);
        packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3));
        std::string bytes(8, 0);
        for (int i = 0; i < 4; ++i) {
            bytes[i] = static_cast<char>(raw.size() >> 8 * i);
            bytes[4 + i] = static_cast<char>(packed.size() >> 8 * i);
        }
        return bytes + packed;
    };
    // Its header, no steps, and an end without moments.
    const auto header = whole(std::string("\6x86_64\0\3./a\0012", 14));
    ASSERT_TRUE(write_file(
        path_, std::string(trace_magic_1) + block(header) + block({}) + block({0, 0, 0, 0}) + std::string(8, '\xff')));
    const auto file = TraceFile::open(path_);
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_EQ(file->header().workload, "./a");
    EXPECT_TRUE(file->mappings().empty());
    // In this version the mappings are missing.
    ASSERT_TRUE(write_file(
        path_, std::string(trace_magic) + block(header) + block({}) + block({0, 0, 0, 0}) + std::string(8, '\xff')));
    EXPECT_FALSE(TraceFile::open(path_));
}

TEST_F(TraceFiles, AreRefusedWhenCutShortOrDamaged) {
    std::mt19937_64 random(7);
    write(loop(5000, [&](std::size_t) { return random() >> 20; }));
    const auto whole = read_file(path_);
    ASSERT_TRUE(whole);
    for (int i = 0; i < 200; ++i) {
        std::string bytes = *whole;
        const std::size_t at = random() % bytes.size();
        if (i % 2)
            bytes.resize(at);
        else
            bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1u << random() % 8));
        ASSERT_TRUE(write_file(path_, bytes));
        const auto shown = show();
        ASSERT_FALSE(shown) << "byte " << at;
        EXPECT_EQ(shown.error().code, ErrorCode::bad_input);
    }
    ASSERT_TRUE(write_file(path_, "tmaprobe.trace/9\nwhatever"));
    EXPECT_THAT(show().error().what, testing::HasSubstr("another version"));
    ASSERT_TRUE(write_file(path_, "{}"));
    EXPECT_THAT(show().error().what, testing::HasSubstr("is no trace"));
}

TEST_F(TraceFiles, ADiskThatIsFullIsToldAtTheEnd) {
    const auto writer = TraceWriter::create("/dev/full", {"x86_64", "", "", ""});
    ASSERT_TRUE(writer);
    const auto done = (*writer)->finish({}, false);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::system);
    EXPECT_FALSE(TraceWriter::create("/nowhere/at/all", {}));
}

}  // namespace
}  // namespace tmaprobe::model
