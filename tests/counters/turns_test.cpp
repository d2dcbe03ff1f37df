#include "counters/perf/turns.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace tmaprobe::counters::perf {
namespace {

/// Groups of so many software events each, which count on every CPU.
std::vector<EventGroup> groups_of(const std::vector<std::size_t>& sizes) {
    std::vector<EventGroup> groups;
    for (const std::size_t size : sizes) {
        PlannedEvent event{"page-faults", {}, false};
        event.definition.pmu = "software";
        event.definition.config = 2;
        groups.push_back({"software", std::vector<PlannedEvent>(size, event)});
    }
    return groups;
}

CountingTarget threads(int count) {
    CountingTarget target;
    target.threads.resize(static_cast<std::size_t>(count));
    std::iota(target.threads.begin(), target.threads.end(), 1);
    return target;
}

TEST(Turns, OneWhereEverythingFits) {
    const auto turns = turns_of(groups_of({4, 1, 1}), threads(10), 60);
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].groups, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Turns, WholeGroupsWhileTheyFit) {
    const auto turns = turns_of(groups_of({4, 1, 1, 3}), threads(10), 50);
    ASSERT_EQ(turns.size(), 2u);
    EXPECT_EQ(turns[0].groups, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(turns[1].groups, (std::vector<std::size_t>{2, 3}));
}

TEST(Turns, AGroupThatDoesNotFitGoesThroughTheThreadsInParts) {
    const auto groups = groups_of({9, 2});
    const auto target = threads(500);
    const auto turns = turns_of(groups, target, 1000);
    std::set<pid_t> seen;
    std::size_t of_first = 0;
    for (const Turn& turn : turns) {
        const auto part = part_of(target, turn);
        std::size_t files = 0;
        for (const auto group : turn.groups) files += groups[group].events.size() * part.threads.size();
        EXPECT_LE(files, 1000u);
        if (turn.groups.front() != 0) continue;
        of_first += part.threads.size();
        seen.insert(part.threads.begin(), part.threads.end());
    }
    EXPECT_EQ(of_first, 500u);  // each once
    EXPECT_EQ(seen.size(), 500u);
    EXPECT_EQ(turns.back().groups, (std::vector<std::size_t>{1}));
}

TEST(Turns, PartsOfCpus) {
    CountingTarget target;
    target.threads = {-1};
    target.cpus = {0, 1, 2, 3, 4};
    const auto turns = turns_of(groups_of({3}), target, 7);
    ASSERT_EQ(turns.size(), 3u);
    EXPECT_EQ(part_of(target, turns[0]).cpus, (std::vector<int>{0}));
    EXPECT_EQ(part_of(target, turns[2]).cpus, (std::vector<int>{3, 4}));
    EXPECT_EQ(part_of(target, turns[2]).threads, (std::vector<pid_t>{-1}));
}

TEST(Turns, NoneWhereNotEvenOneThreadFits) { EXPECT_TRUE(turns_of(groups_of({9}), threads(2), 8).empty()); }

}  // namespace
}  // namespace tmaprobe::counters::perf
