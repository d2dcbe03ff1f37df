#include "judge/pass_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "judge/assess.h"
#include "tests/judge/fixture.h"

namespace tmaprobe::judge {
namespace {

/// A count of a pass that lasted `ns`, all of it counted.
record::Event counted_in(const std::string& name, double value, int pass, std::uint64_t ns) {
    record::Event event;
    event.name = name;
    event.reading.value = value;
    event.reading.raw = static_cast<std::uint64_t>(value);
    event.reading.time_enabled_ns = event.reading.time_running_ns = ns;
    event.pass = event.group = pass;
    return event;
}

record::Metric assessed(const events::Table& table, const std::vector<record::Event>& events, const std::string& name) {
    AssessRequest request;
    request.metrics = {name};
    const auto metrics = assess(table, events, request);
    EXPECT_TRUE(metrics) << metrics.error().what;
    return metrics && !metrics->empty() ? metrics->front() : record::Metric{};
}

TEST(PassLengths, OfOnePassAreNothing) {
    const PassLengths lengths(table_of("amdzen4"), {counted_in("ls_not_halted_cyc", 1000, 0, 10)});
    EXPECT_TRUE(lengths.factors({0}).empty());
}

TEST(PassLengths, AreComparedByCycles) {
    // Three stalls in four cycles of the second pass, which was half as long again as the first.
    const auto table = table_of("amdzen4");
    const auto metric = assessed(table,
                                 {counted_in("ls_not_halted_cyc", 1000, 0, 10), counted_in("ex_ret_instr", 2000, 0, 10),
                                  counted_in("de_no_dispatch_per_slot.backend_stalls", 4500, 1, 15),
                                  counted_in("ls_not_halted_cyc", 1500, 1, 15), counted_in("ex_ret_instr", 3000, 1, 15),
                                  counted_in("de_no_dispatch_per_slot.no_ops_from_frontend", 600, 0, 10)},
                                 "backend_bound");
    EXPECT_DOUBLE_EQ(metric.value, 0.5);  // all of it from the second pass
    EXPECT_DOUBLE_EQ(metric.low, 0.5);
}

TEST(PassLengths, MixedPassesAreBroughtToOneLength) {
    const auto table = table_of("amdzen4");
    std::vector<record::Event> events = {counted_in("ls_not_halted_cyc", 1000, 0, 10),
                                         counted_in("ex_ret_instr", 2000, 0, 10),
                                         counted_in("ex_ret_ops", 2400, 0, 10),
                                         counted_in("de_src_op_disp.all", 4500, 1, 15),
                                         counted_in("r76", 1500, 1, 15),
                                         counted_in("rc0", 3000, 1, 15)};
    events.erase(events.begin() + 4);  // the second pass counts instructions and time, not cycles
    const auto metric = assessed(table, events, "bad_speculation");
    EXPECT_NEAR(metric.value, (3000.0 - 2400) / 6000, 1e-12);
    EXPECT_NEAR(metric.low, metric.high, 1e-12) << "time and instructions agree: nothing is left open";
}

TEST(PassLengths, WhatTheyDifferByWidensTheBounds) {
    // The same work took half as long again in the second pass: its count may follow the work or the cycles.
    const auto table = table_of("cascadelakex");
    const PassLengths lengths(
        table, {counted_in("CPU_CLK_UNHALTED.THREAD", 1000, 0, 10), counted_in("INST_RETIRED.ANY", 2000, 0, 10),
                counted_in("CPU_CLK_UNHALTED.THREAD", 1500, 1, 15), counted_in("INST_RETIRED.ANY", 2000, 1, 15)});
    const auto factors = lengths.factors({0, 1});
    ASSERT_EQ(factors.size(), 2u);
    EXPECT_DOUBLE_EQ(factors[0].at(0), 1);
    EXPECT_DOUBLE_EQ(factors[0].at(1), 1 / 1.5);
    EXPECT_DOUBLE_EQ(factors[1].at(1), 1);
}

TEST(PassLengths, WithoutInstructionsTheWorkIsTakenToBeTheSame) {
    const PassLengths lengths(table_of("amdzen4"),
                              {counted_in("ex_ret_ops", 1000, 0, 10), counted_in("de_src_op_disp.all", 1000, 1, 20)});
    const auto factors = lengths.factors({0, 1});
    ASSERT_EQ(factors.size(), 2u);
    EXPECT_DOUBLE_EQ(factors[0].at(1), 0.5);  // by time
    EXPECT_DOUBLE_EQ(factors[1].at(1), 1);
}

TEST(PassLengths, EachPassMovesByItselfToo) {
    std::vector<record::Event> events;
    for (int pass = 0; pass < 3; ++pass) {
        events.push_back(counted_in("ls_not_halted_cyc", 1000 * (pass + 1), pass, 10));
        events.push_back(counted_in("ex_ret_instr", 2000, pass, 10));
    }
    const auto factors = PassLengths(table_of("amdzen4"), events).factors({0, 1, 2});
    EXPECT_EQ(factors.size(), 4u);  // by cycles, by instructions, and the second and the third alone
    EXPECT_EQ(std::ranges::count_if(factors, [](const auto& one) { return one.at(0) == 1; }), 4);
}

}  // namespace
}  // namespace tmaprobe::judge
