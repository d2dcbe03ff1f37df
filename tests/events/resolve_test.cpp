#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "events/table.h"

namespace tmaprobe::events {
namespace {

using testing::HasSubstr;

struct SpellingCase {
    const char *target, *spelling;
    std::uint64_t config, config1;
    const char* pmu;
};

class Resolves : public testing::TestWithParam<SpellingCase> {};

TEST_P(Resolves, ToItsEncoding) {
    const auto table = load({}, GetParam().target);
    ASSERT_TRUE(table) << table.error().what;
    const auto event = resolve(*table, GetParam().spelling);
    ASSERT_TRUE(event) << event.error().what;
    EXPECT_EQ(event->config, GetParam().config) << std::hex << event->config;
    EXPECT_EQ(event->config1, GetParam().config1) << std::hex << event->config1;
    EXPECT_EQ(event->pmu, GetParam().pmu);
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, Resolves,
    testing::Values(
        SpellingCase{"skylakex", "IDQ_UOPS_NOT_DELIVERED.CORE", 0x19c, 0, ""},
        SpellingCase{"skylakex", "idq_uops_not_delivered.core:u", 0x19c, 0, ""},
        SpellingCase{"skylakex", "skx::IDQ_UOPS_NOT_DELIVERED:CORE", 0x19c, 0, ""},
        SpellingCase{"amdzen4", "skx::IDQ_UOPS_NOT_DELIVERED:CORE", 0x19c, 0, ""},
        SpellingCase{"skylakex", "IDQ_UOPS_NOT_DELIVERED:CORE", 0x19c, 0, ""},
        SpellingCase{"skylakex", "cpu/event=0x9c,umask=1/", 0x19c, 0, ""},
        SpellingCase{"skylakex", "cpu/event=156,umask=0x1,name=mine,period=5/u", 0x19c, 0, ""},
        SpellingCase{"skylakex", "cpu/config=0x19c/", 0x19c, 0, ""}, SpellingCase{"skylakex", "r19C", 0x19c, 0, ""},
        SpellingCase{"haswellx", "cpu@UOPS_EXECUTED.CORE\\,cmask\\=1@", 0x10002b1, 0, ""},
        SpellingCase{"haswellx", "cpu@UOPS_EXECUTED.CORE\\,inv\\,cmask\\=1@", 0x18002b1, 0, ""},
        SpellingCase{"skylakex", "cpu/event=0x9c,umask=1,cmask=4,inv,edge,any/", 0x4a4019c, 0, ""},
        // Fixed counters as perf's generator encodes them.
        SpellingCase{"skylakex", "INST_RETIRED.ANY", 0xc0, 0, ""},
        SpellingCase{"skylakex", "CPU_CLK_UNHALTED.THREAD", 0x3c, 0, ""},
        SpellingCase{"skylakex", "CPU_CLK_UNHALTED.THREAD_ANY", 0x20003c, 0, ""},
        SpellingCase{"skylakex", "CPU_CLK_UNHALTED.REF_TSC", 0x300, 0, ""},
        SpellingCase{"sapphirerapids", "slots", 0x400, 0, ""}, SpellingCase{"sapphirerapids", "topdown\\-mem\\-bound", 0x8700, 0, ""},
        SpellingCase{"skylakex", "instructions", 0xc0, 0, ""}, SpellingCase{"amdzen4", "cycles", 0x76, 0, ""},
        SpellingCase{"skylakex", "page-faults", 2, 0, "software"}, SpellingCase{"skylakex", "msr@tsc@", 0, 0, "msr"},
        SpellingCase{"skylakex", "duration_time", 1, 0, "tool"},
        // Event codes of twelve bits.
        SpellingCase{"amdzen4", "de_no_dispatch_per_slot.no_ops_from_frontend", 0x1000001a0, 0, ""},
        SpellingCase{"amdzen4", "cpu@de_no_dispatch_per_slot.no_ops_from_frontend\\,cmask\\=0x6@", 0x1060001a0, 0, ""},
        SpellingCase{"amdzen4", "cpu/event=0x1a0,umask=0x60/", 0x1000060a0, 0, ""},
        SpellingCase{"amdzen4", "ex_no_retire.load_not_complete", 0xa2d6, 0, ""},
        SpellingCase{"amdzen4", "ex_ret_ucode_ops", 0x1000000c2, 0, ""},
        SpellingCase{"hip08", "armv8_pmuv3_0@event\\=0x2014@", 0x2014, 0, ""}, SpellingCase{"hip08", "cpu_cycles", 0x11, 0, ""},
        SpellingCase{"0x410fd490", "STALL_SLOT", 0x3f, 0, ""},
        // Two PMUs of a hybrid.
        SpellingCase{"alderlake", "cpu_atom@TOPDOWN_BE_BOUND.ALL@", 0x74, 0, "cpu_atom"},
        SpellingCase{"alderlake", "cpu_core/slots/", 0x400, 0, "cpu_core"},
        SpellingCase{"alderlake", "cpu_atom/config=0x3c/", 0x3c, 0, "cpu_atom"},
        SpellingCase{"alderlake", "INST_RETIRED.ANY", 0xc0, 0, "cpu_core"}));

TEST(Resolve, PutsMsrValuesIntoTheirRegister) {
    const auto table = load({}, "sapphirerapids");
    ASSERT_TRUE(table);
    for (const auto& event : table->events) {
        if (event.name == "FRONTEND_RETIRED.L1I_MISS") EXPECT_NE(event.config1, 0u);
        if (event.name.starts_with("OCR.")) EXPECT_NE(event.config1, 0u) << event.name;
    }
}

TEST(Resolve, KeepsTheLatencyOfAnEvent) {
    const auto table = load({}, "graniterapids");
    ASSERT_TRUE(table);
    const auto event = resolve(*table, "MEM_LOAD_RETIRED.L3_HIT:R");
    ASSERT_TRUE(event) << event.error().what;
    EXPECT_TRUE(event->is_latency());
    ASSERT_TRUE(event->retire_latency);
    EXPECT_GT(event->retire_latency->mean, 10);
}

struct WrongCase {
    const char *spelling, *what, *hint;
};

class Refuses : public testing::TestWithParam<WrongCase> {};

TEST_P(Refuses, WithAHint) {
    const auto table = load({}, "skylakex");
    const auto event = resolve(*table, GetParam().spelling);
    ASSERT_FALSE(event);
    EXPECT_EQ(event.error().code, ErrorCode::bad_usage);
    EXPECT_THAT(event.error().what, HasSubstr(GetParam().what));
    EXPECT_THAT(event.error().hint, HasSubstr(GetParam().hint));
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, Refuses,
    testing::Values(WrongCase{"IDQ_UOPS_NOT_DELIVERD.CORE", "no event", "did you mean 'IDQ_UOPS_NOT_DELIVERED.CORE'"},
                    WrongCase{"idq_uops_not_deliverd.core", "no event", "IDQ_UOPS_NOT_DELIVERED.CORE"},
                    WrongCase{"cpu/event=0x9c,umsk=1/", "no field 'umsk'", "did you mean 'umask'"},
                    WrongCase{"cpu/event=0x19c/", "does not fit", ""}, WrongCase{"cpu/event=banana/", "not a number", ""},
                    WrongCase{"cpu/event=0x9c", "no closing '/'", ""}, WrongCase{"", "empty", ""},
                    WrongCase{"skx::NO_SUCH_EVENT", "libpfm4 does not know", ""},
                    WrongCase{"r12345678901234567890", "no event", ""}, WrongCase{"cpu//", "names nothing", ""}));

}  // namespace
}  // namespace tmaprobe::events
