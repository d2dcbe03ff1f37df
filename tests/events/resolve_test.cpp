#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "events/key.h"
#include "events/table.h"

namespace tmaprobe::events {
namespace {

using testing::HasSubstr;

/// A spelling on a target, and what it encodes to: config alone, on the core's PMU unless said.
struct SpellingCase {
    const char *target, *spelling;
    std::uint64_t config;
    const char* pmu = "";
};

class Resolves : public testing::TestWithParam<SpellingCase> {};

TEST_P(Resolves, ToItsEncoding) {
    const auto table = load({}, GetParam().target);
    ASSERT_TRUE(table) << table.error().what;
    const auto event = resolve(*table, GetParam().spelling);
    ASSERT_TRUE(event) << event.error().what;
    EXPECT_EQ(event->config, GetParam().config) << std::hex << event->config;
    EXPECT_EQ(event->config1, 0u) << std::hex << event->config1;
    EXPECT_EQ(event->pmu, GetParam().pmu);
}

const std::vector<SpellingCase> spellings = {
    {"skylakex", "IDQ_UOPS_NOT_DELIVERED.CORE", 0x19c},
    {"skylakex", "idq_uops_not_delivered.core:u", 0x19c},
    {"skylakex", "skx::IDQ_UOPS_NOT_DELIVERED:CORE", 0x19c},
    {"amdzen4", "skx::IDQ_UOPS_NOT_DELIVERED:CORE", 0x19c},
    {"skylakex", "IDQ_UOPS_NOT_DELIVERED:CORE", 0x19c},
    {"skylakex", "cpu/event=0x9c,umask=1/", 0x19c},
    {"skylakex", "cpu/event=156,umask=0x1,name=mine,period=5/u", 0x19c},
    {"skylakex", "cpu/config=0x19c/", 0x19c},
    {"skylakex", "r19C", 0x19c},
    {"haswellx", "cpu@UOPS_EXECUTED.CORE\\,cmask\\=1@", 0x10002b1},
    {"haswellx", "cpu@UOPS_EXECUTED.CORE\\,inv\\,cmask\\=1@", 0x18002b1},
    {"skylakex", "cpu/event=0x9c,umask=1,cmask=4,inv,edge,any/", 0x4a4019c},
    // Fixed counters as perf's generator encodes them.
    {"skylakex", "INST_RETIRED.ANY", 0xc0},
    {"skylakex", "CPU_CLK_UNHALTED.THREAD", 0x3c},
    {"skylakex", "CPU_CLK_UNHALTED.THREAD_ANY", 0x20003c},
    {"skylakex", "CPU_CLK_UNHALTED.REF_TSC", 0x300},
    {"sapphirerapids", "slots", 0x400},
    {"sapphirerapids", "topdown\\-mem\\-bound", 0x8700},
    {"skylakex", "instructions", 0xc0},
    {"amdzen4", "cycles", 0x76},
    {"skylakex", "cache-misses", 0x412e},
    {"amdzen4", "cache-references", 0xff60},
    {"neoverse-n1", "stalled-cycles-backend", 0x24},
    {"skylakex", "page-faults", 2, "software"},
    {"skylakex", "msr@tsc@", 0, "msr"},
    {"skylakex", "duration_time", 1, "tool"},
    // Event codes of twelve bits.
    {"amdzen4", "de_no_dispatch_per_slot.no_ops_from_frontend", 0x1000001a0},
    {"amdzen4", "cpu@de_no_dispatch_per_slot.no_ops_from_frontend\\,cmask\\=0x6@", 0x1060001a0},
    {"amdzen4", "cpu/event=0x1a0,umask=0x60/", 0x1000060a0},
    {"amdzen4", "ex_no_retire.load_not_complete", 0xa2d6},
    {"amdzen4", "ex_ret_ucode_ops", 0x1000000c2},
    {"hip08", "armv8_pmuv3_0@event\\=0x2014@", 0x2014},
    {"hip08", "cpu_cycles", 0x11},
    {"0x410fd490", "STALL_SLOT", 0x3f},
    // Two PMUs of a hybrid.
    {"alderlake", "cpu_atom@TOPDOWN_BE_BOUND.ALL@", 0x74, "cpu_atom"},
    {"alderlake", "cpu_core/slots/", 0x400, "cpu_core"},
    {"alderlake", "cpu_atom/config=0x3c/", 0x3c, "cpu_atom"},
    {"alderlake", "INST_RETIRED.ANY", 0xc0, "cpu_core"},
};

INSTANTIATE_TEST_SUITE_P(Spellings, Resolves, testing::ValuesIn(spellings));

TEST(Resolve, PutsMsrValuesIntoTheirRegister) {
    const auto table = load({}, "sapphirerapids");
    ASSERT_TRUE(table);
    for (const auto& event : table->events) {
        if (event.name == "FRONTEND_RETIRED.L1I_MISS") EXPECT_NE(event.config1, 0u);
        if (event.name.starts_with("OCR.")) EXPECT_NE(event.config1, 0u) << event.name;
    }
}

TEST(Resolve, NamesTheOtherCpuWhoseEventIsAskedFor) {
    const auto table = load({}, "skylakex");
    ASSERT_TRUE(table);
    EXPECT_EQ(other_cpu_of(*table, "skx::IDQ_UOPS_NOT_DELIVERED:CORE"), "");
    EXPECT_EQ(other_cpu_of(*table, "spr::IDQ_BUBBLES"), "spr");
    EXPECT_EQ(other_cpu_of(*table, "perf::PAGE-FAULTS"), "");
    EXPECT_EQ(other_cpu_of(*table, "IDQ_UOPS_NOT_DELIVERED.CORE:u"), "");
}

TEST(Resolve, LeavesPrivilegeToTheModifiers) {
    const auto table = load({}, "skylakex");
    ASSERT_TRUE(table);
    for (const auto& [spelling, modifiers] : {std::pair{"skx::IDQ_UOPS_NOT_DELIVERED:CORE", ""},
                                              {"skx::IDQ_UOPS_NOT_DELIVERED:CORE:u", "u"},
                                              {"skx::IDQ_UOPS_NOT_DELIVERED:CORE:k", "k"},
                                              {"r19c:k", "k"},
                                              {"cpu/config=0x19c/u", "u"}}) {
        const auto event = resolve(*table, spelling);
        ASSERT_TRUE(event) << event.error().what;
        EXPECT_EQ(event->modifiers, modifiers) << spelling;
        EXPECT_EQ(event->config, 0x19cu) << spelling;
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

TEST(Resolve, OffcoreResponsesHaveTheirValueBesideTheEvent) {
    struct {
        const char *folder, *spelling;
        std::uint64_t config, config1;
    } const cases[] = {{"sapphirerapids", "OCR.DEMAND_DATA_RD.L3_MISS", 0x12a, 0x3fbfc00001},
                       {"icelakex", "ocr.reads_to_core.remote_dram", 0x1b7, 0x730000477},
                       {"sierraforest", "OCR.DEMAND_RFO.L3_MISS:u", 0x1b7, 0x3fbfc00002},
                       {"alderlake", "cpu_atom/OCR.DEMAND_DATA_RD.ANY_RESPONSE/", 0x1b7, 0x10001},
                       {"alderlake", "cpu_core/OCR.DEMAND_DATA_RD.ANY_RESPONSE/", 0x12a, 0x10001},
                       {"icelakex", "cpu/event=0xb7,umask=0x1,offcore_rsp=0x730000477/", 0x1b7, 0x730000477}};
    for (const auto& [folder, spelling, config, config1] : cases) {
        const auto table = load({}, folder);
        ASSERT_TRUE(table);
        const auto event = resolve(*table, spelling);
        ASSERT_TRUE(event) << event.error().what;
        EXPECT_EQ(event->config, config) << spelling;
        EXPECT_EQ(event->config1, config1) << spelling;
    }
}

TEST(Resolve, AnOffcoreResponseThatIsNotListedIsRefusedWithAnotherWay) {
    const auto refusal = [](const char* folder) {
        const auto table = load({}, folder);
        const auto event = resolve(*table, "OCR.PF_L1D_AND_SW.PMM_HIT_LOCAL_PMM.ANY_SNOOP");
        return event ? Error{} : event.error();
    };
    EXPECT_THAT(refusal("icelakex").what, HasSubstr("offcore responses of many"));
    EXPECT_THAT(refusal("icelakex").hint, HasSubstr("cpu/event=0xb7,umask=0x1,offcore_rsp=VALUE/"));
    EXPECT_THAT(refusal("alderlake").hint, HasSubstr("cpu_atom/event=0xb7,umask=0x1,offcore_rsp=VALUE/"));
    EXPECT_THAT(refusal("amdzen4").what, HasSubstr("events of Intel's cores"));
}

TEST(Resolve, TellsGuestsAloneFromAll) {
    const auto table = load({}, "skylakex");
    ASSERT_TRUE(table);
    const auto privilege = [&](const char* spelling) { return key_of(*table, *resolve(*table, spelling)).privilege; };
    EXPECT_EQ(privilege("cycles:G"), "G");
    EXPECT_EQ(privilege("cpu/config=0x19c/ukG"), "G");
    EXPECT_EQ(privilege("r19c:uG"), "uG");
    for (const char* all : {"cycles:H", "cycles:GH", "cycles:ukP", "cycles:D"}) EXPECT_EQ(privilege(all), "") << all;
}

TEST(Resolve, TakesARawTermOfThePmu) {
    const auto table = load({}, "skylakex");
    ASSERT_TRUE(table);
    const auto event = resolve(*table, "cpu/r19c,cmask=2/u");
    ASSERT_TRUE(event) << event.error().what;
    EXPECT_EQ(event->config, 0x200019cu);
    EXPECT_EQ(event->modifiers, "u");
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
                    WrongCase{"cpu/event=0x19c/", "does not fit", ""},
                    WrongCase{"cpu/event=banana/", "not a number", ""},
                    WrongCase{"cpu/event=0x9c", "no closing '/'", ""},
                    WrongCase{"cycles:zz", "'zz' is no modifier", "cycles:u"}, WrongCase{"", "empty", ""},
                    WrongCase{"skx::NO_SUCH_EVENT", "libpfm4 does not know", ""},
                    WrongCase{"perf::CYCLES", "not an event of a core PMU", "cycles"},
                    WrongCase{"rapl::RAPL_ENERGY_PKG", "not an event of a core PMU", ""},
                    WrongCase{"r12345678901234567890", "no event", ""}, WrongCase{"cpu//", "names nothing", ""}));

}  // namespace
}  // namespace tmaprobe::events
