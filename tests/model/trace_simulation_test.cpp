#include "model/trace_simulation.h"

#include <gtest/gtest.h>

// The instructions of these traces are x86-64's.
#if defined(__x86_64__)
#include <unistd.h>

#include <filesystem>

#include "core_fixture.h"
#include "events/smt.h"
#include "events/table.h"
#include "model/memory_areas.h"
#include "model/modelled_cpu.h"
#include "model/speed_up.h"
#include "model/trace_code.h"
#include "model/trace_writer.h"

namespace tmaprobe::model {
namespace {

using record::Change;

ModelledCpu zen4_cpu() {
    const auto table = events::load({}, "amdzen4");
    auto cpu = load_modelled_cpu({}, *table);
    cpu->core.architecture = "x86_64";
    return *cpu;
}

class TraceSimulation : public testing::Test {
  protected:
    std::string path_ = (std::filesystem::temp_directory_path() / ("simulated." + std::to_string(::getpid()))).string();
    ModelledCpu cpu_ = zen4_cpu();
    Facts simulated_;                               ///< while it was written
    std::vector<process::MemoryMapping> mappings_;  ///< of the traced process
    ~TraceSimulation() override { std::filesystem::remove(path_); }

    /// Loads that wait for one another, through so many bytes; the last of them are a window.
    TraceFile chase(std::uint64_t bytes) {
        std::uint64_t line = 1;
        const auto trace = core::trace_of({{0x48, 0x8b, 0x3f}, {0xeb, 0xfb}}, 400'000, [&](std::size_t) {
            line = (line * 6364136223846793005u + 1442695040888963407u);
            return 0x7f0000000000 + (line >> 20) % (bytes / 64) * 64;
        });
        auto core = core::make_core(cpu_.core);
        WindowSimulator simulator(**core, cpu_);
        auto writer = TraceWriter::create(path_, {"x86_64", "AuthenticAMD-25-11-1", "chase", "0"});
        simulator.log_to(**writer);
        simulator.set_pages(trace::PageMap::uniform(4096));
        simulator.begin_moment(0);
        const std::size_t before = trace.steps.size() - 20'000;
        for (std::size_t i = 0; i < before; ++i)
            simulator.follow(trace.instructions[trace.steps[i].instruction], trace.steps[i]);
        const trace::Trace window{trace.instructions,
                                  {trace.steps.begin() + static_cast<std::ptrdiff_t>(before), trace.steps.end()}};
        auto facts = simulator.simulate(window);
        simulated_ = facts->base;
        facts->mappings = mappings_;
        EXPECT_EQ(finish_trace(writer->get(), {*facts}, false), "");
        return *TraceFile::open(path_);
    }
    AlteredMachine as_it_is() const { return altered(cpu_, WhatIfQuestion{}); }
    AlteredMachine with(Change change) const { return altered(cpu_, {{change}, 0, {}, {}}); }
    double speed_up(const TraceFile& trace, std::vector<Change> changes) {
        return speed_up(trace, altered(cpu_, {std::move(changes), 0, {}, {}}));
    }
    double speed_up(const TraceFile& trace, const AlteredMachine& machine) {
        const auto before = simulate_trace(trace, {as_it_is()}, "x86_64");
        const auto after = simulate_trace(trace, {machine}, "x86_64");
        EXPECT_TRUE(before && after);
        return speed_up_of({{1, before->front().front(), after->front().front()}}, {}).value;
    }
};

TEST_F(TraceSimulation, OfASavedTraceIsTheOneThatWasSaved) {
    const TraceFile trace = chase(256 << 10);
    const auto windows = simulate_trace(trace, {as_it_is()}, "x86_64");
    ASSERT_TRUE(windows);
    ASSERT_EQ(windows->size(), 1u);
    ASSERT_EQ(windows->front().size(), 1u);
    EXPECT_EQ(windows->front().front().base, simulated_);
}

TEST_F(TraceSimulation, MachinesThatAreWarmedAlikeAreAsEachByItself) {
    const TraceFile trace = chase(8 << 20);
    const auto together =
        simulate_trace(trace, {as_it_is(), with(Change::perfect_l2), with(Change::twice_width)}, "x86_64");
    ASSERT_TRUE(together);
    ASSERT_EQ(together->size(), 3u);
    EXPECT_EQ((*together)[0][0].base, simulated_);
    for (const std::size_t i : {1, 2}) {
        const auto change = i == 1 ? Change::perfect_l2 : Change::twice_width;
        const auto alone = simulate_trace(trace, {with(change)}, "x86_64");
        EXPECT_EQ((*together)[i][0].base, alone->front().front().base);
    }
}

TEST_F(TraceSimulation, PerfectCachesTakeTheirOwnLatency) {
    const TraceFile trace = chase(64 << 20);
    const double l1 = speed_up(trace, {Change::perfect_l1, Change::no_tlb_misses});
    const double l2 = speed_up(trace, {Change::perfect_l2, Change::no_tlb_misses});
    const double l3 = speed_up(trace, {Change::perfect_l3, Change::no_tlb_misses});
    EXPECT_GT(l3, 2);
    EXPECT_NEAR(l1 / l2, static_cast<double>(cpu_.l2.latency) / cpu_.l1_data.latency, 0.5);
    EXPECT_NEAR(l2 / l3, static_cast<double>(cpu_.l3.latency) / cpu_.l2.latency, 0.5);
    EXPECT_NEAR(speed_up(trace, {Change::twice_width}), 1, 0.02);
    EXPECT_NEAR(speed_up(trace, {Change::no_mispredictions}), 1, 0.02);
    EXPECT_GT(speed_up(trace, {Change::half_memory_latency}), 1.2);
}

TEST_F(TraceSimulation, LargePagesSaveTheWalks) {
    const TraceFile trace = chase(64 << 20);
    const double pages = speed_up(trace, {Change::pages_2m}), none = speed_up(trace, {Change::no_tlb_misses});
    EXPECT_GT(pages, 1.02);
    EXPECT_LE(pages, none + 0.01);
    EXPECT_NEAR(speed_up(trace, {Change::pages_4k}), 1, 1e-9);
}

constexpr std::uint64_t code = 0x401000;  // where trace_of() has it

process::MemoryMapping mapping(std::uint64_t begin, std::uint64_t end, const std::string& path, bool executable) {
    process::MemoryMapping one;
    one.begin = begin;
    one.end = end;
    one.inode = path.empty() ? 0 : 1;
    one.path = path;
    one.writable = !executable;
    one.executable = executable;
    return one;
}

TEST_F(TraceSimulation, OneMappingInLargePagesIsAllThatIsInIt) {
    constexpr std::uint64_t data = 0x7f0000000000, bytes = 64 << 20;
    mappings_ = {mapping(code, code + 4096, "/a.out", true), mapping(data, data + bytes, "", false),
                 mapping(data + 2 * bytes, data + 3 * bytes, "", false)};
    const TraceFile trace = chase(bytes);
    ASSERT_EQ(trace.mappings().size(), 1u);
    EXPECT_EQ(trace.mappings_of_window(0), 0u);
    const MemoryAreas areas(trace.mappings());
    ASSERT_EQ(areas.size(), 3u);
    AlteredMachine its = as_it_is(), others = as_it_is();
    its.large_area = areas.at(0, data + 4096);
    others.large_area = areas.at(0, data + 2 * bytes);
    EXPECT_NEAR(speed_up(trace, its), speed_up(trace, {Change::pages_2m}), 0.01);
    EXPECT_NEAR(speed_up(trace, others), 1, 1e-9);
}

TEST_F(TraceSimulation, ChosenCodeThatNeverWaitsWinsAllThatItWaitedFor) {
    mappings_ = {mapping(code, code + 4096, "/a.out", true)};
    const TraceFile trace = chase(64 << 20);
    const auto executed = executed_instructions(trace);
    ASSERT_TRUE(executed) << executed.error().what;
    ASSERT_EQ(executed->size(), 2u);
    EXPECT_EQ(executed->front().place.path, "/a.out");
    EXPECT_NEAR((*executed)[0].share + (*executed)[1].share, 1, 1e-9);
    const auto chosen = [&](Change change, std::size_t instruction) {
        return speed_up(trace, altered(cpu_, {{change}, 0, "it", {(*executed)[instruction].place}}));
    };
    // Loads that wait for nothing are as many as the core can have in flight.
    EXPECT_GT(chosen(Change::no_waits, 0), 20);
    EXPECT_GT(chosen(Change::no_dependencies, 0), 2);
    EXPECT_GT(chosen(Change::no_waits, 0), chosen(Change::no_dependencies, 0));
    EXPECT_NEAR(chosen(Change::no_waits, 1), 1, 0.02);
    EXPECT_NEAR(chosen(Change::no_dependencies, 1), 1, 0.02);
}

TEST_F(TraceSimulation, PrefetchesFarEnoughAheadHideMemory) {
    const TraceFile trace = chase(64 << 20);
    const auto ahead = [&](std::uint64_t distance) {
        return speed_up(trace, altered(cpu_, {{Change::prefetched}, distance, {}, {}}));
    };
    EXPECT_GT(ahead(8), 2);
    EXPECT_GT(ahead(1), 1.5);
    EXPECT_LE(ahead(8), speed_up(trace, {Change::perfect_l1, Change::no_tlb_misses}));
    const TraceFile cached = chase(16 << 10);
    EXPECT_NEAR(speed_up(cached, altered(cpu_, {{Change::prefetched}, 8, {}, {}})), 1, 0.01);
}

TEST_F(TraceSimulation, ABusySiblingTakesCachesAndNoTimeOfAChain) {
    const auto sharing = events::read_smt_sharing({}, "amdzen4");
    ASSERT_TRUE(sharing && *sharing);
    auto halved = (*sharing)->partitioned;
    halved.insert(halved.end(), (*sharing)->shared.begin(), (*sharing)->shared.end());
    const AlteredMachine busy = altered(cpu_, {{Change::busy_sibling}, 0, {}, {}}, halved);
    EXPECT_EQ(busy.cpu.l2.size_bytes, cpu_.l2.size_bytes / 2);
    // Three quarters of a cache fit into it, and not into half of it.
    EXPECT_LT(speed_up(chase(cpu_.l1_data.size_bytes * 3 / 4), busy), 0.8);
    EXPECT_NEAR(speed_up(chase(4 << 10), busy), 1, 0.02);
}

TEST_F(TraceSimulation, OfAnotherArchitectureIsRefused) {
    const TraceFile trace = chase(64 << 10);
    const auto windows = simulate_trace(trace, {as_it_is()}, "aarch64");
    ASSERT_FALSE(windows);
    EXPECT_EQ(windows.error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace tmaprobe::model
#endif
