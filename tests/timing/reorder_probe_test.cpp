#include "timing/reorder_probe.h"

#include <gtest/gtest.h>

namespace tmaprobe::timing {
namespace {

/// A core whose two chains overlap while they fit into its buffer.
struct FakeCore {
    int entries = 512;
    double overlap(int distance) const { return distance + 20 < entries ? 1.1 : 2.1; }
};

TEST(ReorderProbe, StandsBetweenHalfAndAllOfEveryKnownBuffer) {
    if (probe_distances().empty()) GTEST_SKIP() << "the test is written for x86-64";
    for (const int entries : {168, 192, 224, 256, 320, 352, 448, 512}) {
        const int distance = distance_for(entries);
        EXPECT_GT(distance, entries / 2 + 16) << entries;
        EXPECT_LT(distance, entries - 16) << entries;
    }
    EXPECT_EQ(distance_for(0), 0);
    EXPECT_EQ(distance_for(4096), 0);
}

TEST(ReorderProbe, TellsAWholeBufferFromHalfOfOne) {
    if (probe_distances().empty()) GTEST_SKIP() << "the test is written for x86-64";
    FakeCore core;
    ReorderProbe probe(512, [&](int distance) { return core.overlap(distance); });
    EXPECT_LT(probe.read(), halved_above);
    core.entries = 256;
    EXPECT_GT(probe.read(), halved_above);
}

TEST(ReorderProbe, FindsTheBufferOfAnUnknownCore) {
    if (probe_distances().empty()) GTEST_SKIP() << "the test is written for x86-64";
    FakeCore core;
    ReorderProbe probe(0, [&](int distance) { return core.overlap(distance); });
    EXPECT_LT(probe.read(), halved_above);
    EXPECT_GT(probe.distance(), 256 + 16);
    EXPECT_LT(probe.distance(), 512 - 16);
    core.entries = 256;
    EXPECT_GT(probe.read(), halved_above);
}

TEST(ReorderProbe, FindsOutLaterThatTheSiblingWasBusyAtFirst) {
    if (probe_distances().empty()) GTEST_SKIP() << "the test is written for x86-64";
    FakeCore core{256};
    ReorderProbe probe(0, [&](int distance) { return core.overlap(distance); });
    probe.read();
    const int at_first = probe.distance();
    core.entries = 512;
    probe.read();
    EXPECT_GT(probe.distance(), at_first);
    core.entries = 256;
    EXPECT_GT(probe.read(), halved_above);
}

TEST(ReorderProbe, SaysNothingWhereChainsNeverOverlap) {
    ReorderProbe probe(0, [](int) { return 2.0; });
    EXPECT_EQ(probe.read(), 0);
}

TEST(ReorderProbe, MeasuresThisCore) {
    if (probe_distances().empty()) GTEST_SKIP() << "the test is written for x86-64";
    // A short distance overlaps even in half a buffer; the longest is beyond most. Others may run meanwhile.
    double least = 10, most = 0;
    for (int attempt = 0; attempt < 20; ++attempt) {
        least = std::min(least, measure_overlap(probe_distances().front()));
        most = std::max(most, measure_overlap(probe_distances().back()));
    }
    EXPECT_LT(least, halved_above);
    EXPECT_EQ(measure_overlap(7), 0);
    if (most <= halved_above)
        GTEST_SKIP() << "chains overlap at every distance here (" << most
                     << " at the longest, as on a Zen 4): the probe says nothing of this core's neighbour";
}

}  // namespace
}  // namespace tmaprobe::timing
