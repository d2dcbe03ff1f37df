// What the core says of steps that are in regions.
#include <gtest/gtest.h>

#include <map>

#include "tests/model/core_fixture.h"

namespace tmaprobe::model::core {
namespace {

#if defined(__x86_64__)

const Bytes imul_rax = {0x48, 0x0f, 0xaf, 0xc0};  // imul rax, rax: 3 cycles, one after the other
const Bytes nop = {0x90};

struct ByRegions {
    PipelineFacts all;
    std::map<std::uint32_t, PipelineFacts> parts;
};

ByRegions simulate_regions(trace::Trace trace, std::size_t lead_in,
                           const std::function<std::uint32_t(std::size_t)>& regions) {
    for (std::size_t i = 0; i < trace.steps.size(); ++i) trace.steps[i].regions = regions(i);
    auto core = make_core(zen4());
    FixedMemory memory([](std::uint64_t) { return 0u; });
    NeverWrong branches;
    ByRegions told;
    Window window{0, trace.steps.size(), lead_in, [&] { told.parts.clear(); }, nullptr};
    window.on_regions = [&](std::uint32_t number, const PipelineFacts& took) { told.parts[number] += took; };
    const auto simulated = (*core)->simulate(trace, window, memory, branches);
    EXPECT_TRUE(simulated.has_value());
    if (simulated) told.all = simulated->facts;
    return told;
}

trace::Trace imuls_and_nops(std::size_t of_each) {
    trace::Trace trace = trace_of({imul_rax, nop}, 0, {});
    for (std::size_t i = 0; i < 2 * of_each; ++i) trace.steps.push_back({i < of_each ? 0u : 1u, 0, 0});
    return trace;
}

TEST(CoreRegions, PartsAddUpToTheWhole) {
    const auto trace = imuls_and_nops(3000);
    const auto told =
        simulate_regions(trace, 500, [](std::size_t i) { return static_cast<std::uint32_t>(i / 37 % 3); });
    EXPECT_EQ(told.parts.size(), 3u);
    PipelineFacts sum;
    for (const auto& [number, part] : told.parts) sum += part;
    EXPECT_EQ(named(sum), named(told.all));
}

TEST(CoreRegions, RegionsChangeNothingOfTheWhole) {
    const auto trace = imuls_and_nops(3000);
    const auto one = simulate_regions(trace, 500, [](std::size_t) { return 0u; });
    const auto many = simulate_regions(trace, 500, [](std::size_t i) { return static_cast<std::uint32_t>(i); });
    EXPECT_EQ(named(one.all), named(many.all));
    EXPECT_EQ(named(one.parts.at(0)), named(one.all));
}

TEST(CoreRegions, EachHasWhatItsOwnInstructionsTook) {
    // Longer than the core holds at once: what waits when the region ends is counted beside it.
    const auto told = simulate_regions(imuls_and_nops(6000), 0, [](std::size_t i) { return i < 6000 ? 1u : 2u; });
    const auto &multiplies = told.parts.at(1), &nops = told.parts.at(2);
    EXPECT_NEAR(static_cast<double>(multiplies.instructions), 6000, 10);
    EXPECT_NEAR(static_cast<double>(nops.instructions), 6000, 10);
    EXPECT_GT(multiplies.cycles, 6000u * 3 - 2 * 320 * 3);
    EXPECT_LT(nops.cycles, 6000u / 6 + 2 * 320 * 3);
}

#endif

}  // namespace
}  // namespace tmaprobe::model::core
