#include "experiments/neighbour.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "experiments/interference.h"
#include "tests/experiments/topology_fixture.h"

namespace tmaprobe::experiments {
namespace {

Result<Subjects> choose(const machine::Topology& topology, const std::string& place,
                        const std::string& aggressor = "stream:size=1M", const std::string& victim = "chase:size=64K") {
    InterferenceRequest request;
    request.run.counting.source = SourceChoice::none;
    request.victim = victim;
    request.aggressor = aggressor;
    request.place = place;
    machine::Host host = machine::detect();
    host.is_emulated = true;  // no CPU of an invented machine can be looked at
    return choose_subjects(request, host, topology);
}

std::vector<int> neighbour_cpus(const Result<Subjects>& subjects) {
    EXPECT_TRUE(subjects) << subjects.error().what;
    return subjects ? subjects->aggressor.point->parameters.cpus : std::vector<int>{};
}

TEST(Neighbour, SitsWhereItIsWanted) {
    const auto topology = machine_of(2, 2, 2);  // the victim is on CPU 7: core 3, second socket
    EXPECT_EQ(choose(topology, "l3")->victim.point->parameters.cpus, std::vector<int>{7});
    EXPECT_EQ(neighbour_cpus(choose(topology, "smt")), std::vector<int>{3});
    EXPECT_EQ(neighbour_cpus(choose(topology, "l3")), std::vector<int>{2});
    EXPECT_EQ(neighbour_cpus(choose(topology, "numa")), std::vector<int>{0});
    EXPECT_EQ(choose(topology, "numa")->aggressor.place, "numa-21");
    EXPECT_EQ(neighbour_cpus(choose(topology, "l3", "stream:size=1M,threads=2")), (std::vector<int>{2, 6}));
}

TEST(Neighbour, TakesTheSiblingWhenNothingElseSharesTheCache) {
    const auto subjects = choose(machine_of(1, 1, 2), "l3");
    EXPECT_EQ(neighbour_cpus(subjects), std::vector<int>{0});
    EXPECT_EQ(subjects->aggressor.place, "smt");
}

TEST(Neighbour, StaysOffCpusOfOthers) {
    auto topology = machine_of(1, 4, 1);
    topology.cpus[0].allowed = topology.cpus[2].allowed = false;
    EXPECT_EQ(neighbour_cpus(choose(topology, "l3")), std::vector<int>{1});
    EXPECT_FALSE(choose(topology, "l3", "stream:size=1M,threads=2"));
}

TEST(Neighbour, SaysWhyThereIsNoPlace) {
    const auto one = choose(machine_of(1, 1, 1), "l3");
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, ErrorCode::unavailable);
    EXPECT_NE(one.error().what.find("one CPU"), std::string::npos) << one.error().what;
    const auto no_sibling = choose(machine_of(1, 2, 1), "smt");
    ASSERT_FALSE(no_sibling);
    EXPECT_EQ(no_sibling.error().code, ErrorCode::unavailable);
    const auto nowhere = choose(machine_of(1, 2, 1), "l9");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::bad_usage);
}

TEST(Neighbour, MayNotShareTheVictimsCpu) {
    const auto both = choose(machine_of(1, 2, 1), "l3", "stream:size=1M,cpus=1", "chase:size=64K,cpus=1");
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().code, ErrorCode::bad_usage);
    EXPECT_NE(both.error().what.find("both on CPU 1"), std::string::npos) << both.error().what;
}

TEST(Neighbour, CommandsArePlacedToo) {
    const auto subjects = choose(machine_of(1, 2, 1), "l3", "cmd:sleep 1", "cmd:true");
    ASSERT_TRUE(subjects) << subjects.error().what;
    EXPECT_EQ(subjects->victim.cpu, 1);
    EXPECT_EQ(subjects->aggressor.cpu, 0);
    EXPECT_FALSE(choose(machine_of(1, 2, 1), "l3", "cmd:  "));
}

TEST(Neighbour, AllocationsNeedNone) {
    InterferenceRequest request;
    request.run.counting.source = SourceChoice::none;
    request.victim = "chase:size=64K";
    request.aggressor = "stream:size=1M";
    request.allocations = {"l3"};
    EXPECT_TRUE(choose_subjects(request, machine::detect(), machine_of(1, 1, 1)));
}

TEST(Neighbour, ThatEndsEarlyIsNoNeighbour) {
    const auto topology = machine::detect_topology();
    const auto allowed =
        std::count_if(topology.cpus.begin(), topology.cpus.end(), [](const auto& place) { return place.allowed; });
    if (allowed < 2) GTEST_SKIP() << "one CPU: there is no place for a neighbour";
    const auto subjects = choose(topology, "l3", "cmd:false");
    ASSERT_TRUE(subjects) << subjects.error().what;
    auto neighbour = Neighbour::start(subjects->aggressor, [](pid_t) { return Result<>{}; });
    Result<> lasts;
    if (!neighbour) lasts = pass_on(neighbour);
    // On a slow machine it takes its time to start and to end.
    for (int tries = 0; lasts && tries < 2000; ++tries) {
        ::usleep(10'000);
        lasts = neighbour->check();
    }
    ASSERT_FALSE(lasts);
    EXPECT_EQ(lasts.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace tmaprobe::experiments
