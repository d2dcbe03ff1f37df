#include "experiments/count_warnings.h"

#include <gtest/gtest.h>

namespace tmaprobe::experiments {
namespace {

record::Metric counted(const std::string& name) {
    record::Metric metric;
    metric.name = name;
    metric.status = record::Status::measured;
    return metric;
}

TEST(PublishedLatencies, AreSaidOfMetricsThatTakeThem) {
    const auto table = events::load(events::Library{}, "graniterapids");
    ASSERT_TRUE(table);
    const auto said = say_published_latencies(*table, {}, {counted("tma_retiring"), counted("tma_code_l2_hit")});
    ASSERT_TRUE(said);
    EXPECT_EQ(said->id, "published_latencies");
    EXPECT_EQ(said->what.rfind("tma_code_l2_hit:", 0), 0u) << said->what;
}

TEST(PublishedLatencies, AreNotSaidWhereNoneIsTakenOrNothingWasCounted) {
    const auto table = events::load(events::Library{}, "graniterapids");
    ASSERT_TRUE(table);
    auto not_counted = counted("tma_code_l2_hit");
    not_counted.status = record::Status::not_counted;
    EXPECT_FALSE(say_published_latencies(*table, {}, {counted("tma_retiring"), not_counted}));
    const auto other = events::load(events::Library{}, "sapphirerapids");
    ASSERT_TRUE(other);
    EXPECT_FALSE(say_published_latencies(*other, {}, {counted("tma_retiring")}));
}

}  // namespace
}  // namespace tmaprobe::experiments
