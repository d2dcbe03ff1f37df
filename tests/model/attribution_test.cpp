#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/fixture.h"

namespace tmaprobe::model {
namespace {

#if defined(__x86_64__)
constexpr const char* target = "amdzen4";
#else
constexpr const char* target = "neoverse-n1";
#endif

using Sums = std::map<std::string, double>;

/// Of all instructions, by cause, each window as it weighs.
Sums sums_of(const counters::SlotAttribution& attribution) {
    Sums sums;
    for (const auto& window : attribution.windows)
        window.slots.for_each([&](std::uint64_t, const counters::SlotsByCause& slots) {
            for (const auto& [cause, name] : Names<record::SlotCause>::values)
                sums["slots_by_cause_" + std::string(name)] +=
                    window.weight * static_cast<double>(slots[static_cast<std::size_t>(cause)]);
        });
    return sums;
}

/// The same of what waits for memory, by data.
Sums sums_of_accesses(const counters::SlotAttribution& attribution) {
    Sums sums;
    for (const auto& window : attribution.windows)
        window.accesses.for_each([&](const counters::AccessSlots::Access& access) {
            for (const auto& [cause, name] : Names<record::SlotCause>::values)
                if (const auto slots = access.slots[static_cast<std::size_t>(cause)])
                    sums["slots_by_cause_" + std::string(name)] += window.weight * static_cast<double>(slots);
        });
    return sums;
}

/// `exactly`: to the slot; else as far as weights can be added up in another order.
void expect_the_tree(const counters::Sample& sample, bool exactly) {
    ASSERT_TRUE(sample.attribution && sample.model);
    const auto& facts = sample.model->facts;
    const Sums sums = sums_of(*sample.attribution);
    double all = 0;
    for (const auto& [name, slots] : sums) {
        ASSERT_TRUE(facts.contains(name)) << name;
        EXPECT_NEAR(slots, facts.at(name), exactly ? 0 : 1e-9 * facts.at("slots")) << name;
        all += slots;
    }
    for (const auto& [name, slots] : sums_of_accesses(*sample.attribution))
        EXPECT_NEAR(slots, sums.at(name), exactly ? 0 : 1e-9 * facts.at("slots")) << name;
    EXPECT_NEAR(all, facts.at("slots"), exactly ? 0 : 1e-9 * all);
    EXPECT_NEAR(all, sample.attribution->slot_width * facts.at("cycles"), exactly ? 0 : 1e-9 * all);
}

void spend(std::uint64_t rounds) {
    volatile std::uint64_t sum = 1;
    for (std::uint64_t i = 0; i < rounds; ++i) sum = sum * 2862933555777941757u + (sum & 1 ? 3 : i);
}

TEST(SlotAttribution, OfAKernelIsItsTreeToTheSlot) {
    FunctionWorkload workload(spend);
    ModelOptions options;
    options.attribute = true;
    const auto modelled = model_of(workload, target, options);
    expect_the_tree(modelled.sample, true);
    const auto& attribution = *modelled.sample.attribution;
    EXPECT_EQ(attribution.windows.size(), static_cast<std::size_t>(options.windows));
    EXPECT_FALSE(attribution.windows_differ);
    ASSERT_EQ(attribution.mappings.size(), 1u) << "one process, whose code stays where it is";
    // Every instruction lies in code of this process.
    attribution.windows.front().slots.for_each([&](std::uint64_t address, const counters::SlotsByCause&) {
        const auto& mappings = attribution.mappings.front();
        EXPECT_TRUE(std::any_of(mappings.begin(), mappings.end(),
                                [&](const auto& mapping) { return address >= mapping.begin && address < mapping.end; }))
            << std::hex << address;
    });
}

TEST(SlotAttribution, OfACommandIsItsTree) {
    const auto table = events::load({}, target);
    ASSERT_TRUE(table.has_value());
    ModelOptions options;
    options.attribute = true;
    options.effort = 20;
    auto source = make_source({}, *table, host_of_test(), options);
    ASSERT_TRUE(source && (*source)->prepare(plan_of(*table, tree_metrics(*table))));
    CommandWorkload workload({"/bin/sh", "-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"});
    const auto sample = (*source)->measure(workload, {0, 0, 1});
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    expect_the_tree(*sample, false);
    EXPECT_TRUE(sample->attribution->windows_differ);
    EXPECT_EQ(sample->attribution->windows.size(), sample->model->windows);
    for (const auto& window : sample->attribution->windows) {
        ASSERT_LT(window.mappings, sample->attribution->mappings.size());
        EXPECT_FALSE(sample->attribution->mappings[window.mappings].empty());
    }
}

TEST(SlotAttribution, IsNotThereUnlessItIsAskedFor) {
    FunctionWorkload workload(spend);
    EXPECT_FALSE(model_of(workload, target).sample.attribution);
}

}  // namespace
}  // namespace tmaprobe::model
