#include "counters/perf/sample_ring.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>

namespace tmaprobe::counters::perf {
namespace {

constexpr std::uint64_t all_fields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT_STRUCT;

/// A ring as the kernel fills it: positions grow for ever, their place is the rest by the ring's size.
struct Ring {
    explicit Ring(std::size_t bytes, std::uint64_t start = 0) : data(bytes), tail(start), head(start) {}

    template <class Number>
    void put(Number value) {
        std::byte bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        for (const std::byte byte : bytes) data[head++ % data.size()] = byte;
    }
    void put_header(std::uint32_t type, std::size_t body) {
        put(perf_event_header{type, 0, static_cast<std::uint16_t>(sizeof(perf_event_header) + body)});
    }
    /// With all fields: 48 bytes.
    void put_sample(std::uint64_t event, std::uint16_t latency, std::uint64_t period = 1000) {
        put_header(PERF_RECORD_SAMPLE, 40);
        put(event);
        put(std::uint64_t{0x401000});
        put(std::uint32_t{71});
        put(std::uint32_t{72});
        put(period);
        perf_sample_weight weight{};
        weight.var1_dw = 0xdeadbeef;
        weight.var2_w = 0x1234;
        weight.var3_w = latency;
        put(weight.full);
    }
    void put_lost(std::uint64_t event, std::uint64_t count) {
        put_header(PERF_RECORD_LOST, 16);
        put(event);
        put(count);
    }
    std::uint64_t parse(std::uint64_t fields = all_fields) { return parse_records(data, tail, head, fields, records); }

    std::vector<std::byte> data;
    std::uint64_t tail, head;
    RingRecords records;
};

TEST(SampleRing, ReadsEachField) {
    Ring ring(4096);
    ring.put_sample(7, 48, 12345);
    EXPECT_EQ(ring.parse(), ring.head);
    ASSERT_EQ(ring.records.samples.size(), 1u);
    const SampleRecord& sample = ring.records.samples.front();
    EXPECT_EQ(sample.event, 7u);
    EXPECT_EQ(sample.address, 0x401000u);
    EXPECT_EQ(sample.process, 71);
    EXPECT_EQ(sample.thread, 72);
    EXPECT_EQ(sample.period, 12345u);
    EXPECT_EQ(sample.retire_latency, 48u) << "var3_w, neither of the other weights";
}

TEST(SampleRing, ReadsOnlyTheFieldsThatWereAskedFor) {
    Ring ring(4096);
    ring.put_header(PERF_RECORD_SAMPLE, 8);
    ring.put(std::uint64_t{0x402000});
    EXPECT_EQ(ring.parse(PERF_SAMPLE_IP), ring.head);
    ASSERT_EQ(ring.records.samples.size(), 1u);
    EXPECT_EQ(ring.records.samples.front().address, 0x402000u);
    EXPECT_EQ(ring.records.samples.front().event, 0u);
    EXPECT_EQ(ring.records.samples.front().retire_latency, 0u);
}

TEST(SampleRing, GoesOverTheEndWhereverItLiesInARecord) {
    for (std::uint64_t start = 0; start < 512; start += 8) {
        SCOPED_TRACE(start);
        Ring ring(512, 3 * 512 + start);
        for (std::uint16_t number = 1; number <= 10; ++number) ring.put_sample(number, number);
        EXPECT_EQ(ring.parse(), ring.head);
        ASSERT_EQ(ring.records.samples.size(), 10u);
        for (std::uint16_t number = 1; number <= 10; ++number) {
            EXPECT_EQ(ring.records.samples[number - 1u].event, number);
            EXPECT_EQ(ring.records.samples[number - 1u].retire_latency, number);
        }
    }
}

TEST(SampleRing, TellsWhatWasLostAndPassesOverTheRest) {
    Ring ring(4096);
    ring.put_sample(7, 1);
    ring.put_lost(9, 55);
    ring.put_header(PERF_RECORD_THROTTLE, 24);
    for (int i = 0; i < 3; ++i) ring.put(std::uint64_t{0});
    ring.put_sample(7, 2);
    EXPECT_EQ(ring.parse(), ring.head);
    EXPECT_EQ(ring.records.samples.size(), 2u);
    ASSERT_EQ(ring.records.lost.size(), 1u);
    EXPECT_EQ(ring.records.lost.front().event, 9u);
    EXPECT_EQ(ring.records.lost.front().count, 55u);
}

TEST(SampleRing, TheIdAtTheEndOfALostRecordIsTheParents) {
    Ring ring(4096);
    ring.put_header(PERF_RECORD_LOST, 40);  // id, count, and with sample_id_all: thread, identifier
    for (const std::uint64_t word : {1009u, 55u, 0u, 0u, 7u}) ring.put(std::uint64_t{word});
    ring.parse();
    ASSERT_EQ(ring.records.lost.size(), 1u);
    EXPECT_EQ(ring.records.lost.front().event, 7u);
    EXPECT_EQ(ring.records.lost.front().count, 55u);
}

TEST(SampleRing, EndsWhereTheBytesAreNoRecords) {
    Ring ring(4096);
    ring.put_sample(7, 1);
    const std::uint64_t end = ring.head;
    ring.put(perf_event_header{PERF_RECORD_SAMPLE, 0, 0});
    EXPECT_EQ(ring.parse(), end) << "a record without a length";
    EXPECT_EQ(ring.records.samples.size(), 1u);

    Ring beyond(4096);
    beyond.put(perf_event_header{PERF_RECORD_SAMPLE, 0, 400});
    EXPECT_EQ(beyond.parse(), 0u) << "a record longer than what there is";
    EXPECT_TRUE(beyond.records.samples.empty());

    Ring overrun(512);
    overrun.head = 5000;
    EXPECT_EQ(overrun.parse(), 0u) << "more than the ring holds";
    EXPECT_TRUE(overrun.records.samples.empty());
}

TEST(SampleRing, ARecordShorterThanItsFieldsReadsAsNothing) {
    Ring ring(4096);
    ring.put_header(PERF_RECORD_SAMPLE, 8);
    ring.put(std::uint64_t{7});
    ring.parse();
    ASSERT_EQ(ring.records.samples.size(), 1u);
    EXPECT_EQ(ring.records.samples.front().event, 7u);
    EXPECT_EQ(ring.records.samples.front().retire_latency, 0u);
}

TEST(SampleRing, NothingThereIsNothingRead) {
    Ring ring(4096, 77 * 8);
    EXPECT_EQ(ring.parse(), ring.tail);
    EXPECT_TRUE(ring.records.samples.empty());
}

TEST(SampleRing, WhatIsNoEventIsNotMapped) { EXPECT_FALSE(SampleRing::map(-1, 8)); }

}  // namespace
}  // namespace tmaprobe::counters::perf
