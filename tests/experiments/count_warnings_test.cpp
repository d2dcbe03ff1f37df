#include "experiments/count_warnings.h"

#include <gtest/gtest.h>

#include "events/key.h"

namespace tmaprobe::experiments {
namespace {

record::Metric counted(const std::string& name) {
    record::Metric metric;
    metric.name = name;
    metric.status = record::Status::measured;
    return metric;
}

record::RetireLatency latency(const events::Table& table, const std::string& spelling, record::NoLatency missing) {
    record::RetireLatency made;
    made.event = spelling;
    made.key = events::key_of(table, *events::resolve(table, spelling));
    made.missing = missing;
    made.samples = missing == record::NoLatency::none ? 512 : 0;
    made.mean = 12.34;
    made.low = 11.9;
    made.high = 12.8;
    return made;
}

class Latencies : public testing::Test {
  protected:
    void SetUp() override {
        auto loaded = events::load(events::Library{}, "graniterapids");
        ASSERT_TRUE(loaded);
        table = std::move(*loaded);
    }
    events::Table table;
};

TEST_F(Latencies, ThatNobodySampledAreSaidToBePublished) {
    const auto said = say_latencies(table, {}, {counted("tma_retiring"), counted("tma_code_l2_hit")}, {});
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].id, "published_latencies");
    EXPECT_EQ(said[0].what.rfind("tma_code_l2_hit:", 0), 0u) << said[0].what;
}

TEST_F(Latencies, ThatWereSampledAreSaidWithTheirSamples) {
    const auto said = say_latencies(table, {}, {counted("tma_lock_latency")},
                                    {latency(table, "MEM_INST_RETIRED.LOCK_LOADS:R", record::NoLatency::none)});
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].id, "sampled_latencies");
    EXPECT_EQ(said[0].what,
              "tma_lock_latency: made with latencies at retirement that were sampled here: "
              "MEM_INST_RETIRED.LOCK_LOADS:R 12.3 cycles (11.9 to 12.8, 512 samples)");
}

TEST_F(Latencies, ThatWereNotSampledAreSaidWithTheReason) {
    using enum record::NoLatency;
    const auto said = say_latencies(table, {}, {counted("tma_lock_latency"), counted("tma_code_l2_miss")},
                                    {latency(table, "MEM_INST_RETIRED.LOCK_LOADS:R", none),
                                     latency(table, "FRONTEND_RETIRED.L2_MISS:R", no_samples)});
    ASSERT_EQ(said.size(), 2u);
    EXPECT_EQ(said[0].id, "sampled_latencies");
    EXPECT_EQ(said[1].id, "published_latencies");
    EXPECT_EQ(said[1].what.rfind("tma_code_l2_miss:", 0), 0u) << said[1].what;
    EXPECT_NE(said[1].what.find("no sample of it came (FRONTEND_RETIRED.L2_MISS:R)"), std::string::npos)
        << said[1].what;
    for (const auto why : {not_precise, no_permission, no_room, with_intervals, too_few_samples, always_zero}) {
        const auto reason = say_latencies(table, {}, {counted("tma_lock_latency")},
                                          {latency(table, "MEM_INST_RETIRED.LOCK_LOADS:R", why)});
        ASSERT_EQ(reason.size(), 1u);
        EXPECT_NE(reason[0].what.find("are not measured: "), std::string::npos) << reason[0].what;
    }
}

TEST_F(Latencies, AreNotSaidWhereNoneIsTakenOrNothingWasCounted) {
    auto not_counted = counted("tma_code_l2_hit");
    not_counted.status = record::Status::not_counted;
    EXPECT_TRUE(say_latencies(table, {}, {counted("tma_retiring"), not_counted}, {}).empty());
    const auto other = events::load(events::Library{}, "sapphirerapids");
    ASSERT_TRUE(other);
    EXPECT_TRUE(say_latencies(*other, {}, {counted("tma_retiring")}, {}).empty());
}

}  // namespace
}  // namespace tmaprobe::experiments
