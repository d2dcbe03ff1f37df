#include "events/geometry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/sizes.h"

namespace tmaprobe::events {
namespace {

std::string descriptor_table() {
    const auto content = read_file(std::string(TMAPROBE_SOURCE_DIR) + "/events/cpuid-descriptors.json");
    return content ? *content : std::string();
}

int entries(const std::vector<machine::Tlb>& tlbs, int level, std::uint64_t page_bytes) {
    int sum = 0;
    for (const machine::Tlb& tlb : tlbs)
        if (tlb.level == level && tlb.page_bytes == page_bytes && tlb.kind != "instruction") sum += tlb.entries;
    return sum;
}

Result<HostGeometry> geometry_of(const char* text) {
    const auto cpu = TRY(parse_cpu_geometry(text, "x/geometry.json"));
    return host_geometry(cpu);
}

TEST(Descriptors, OfACascadeLakeGuestGiveItsTlbs) {
    const auto geometry = read_descriptors(descriptor_table(), {0x63, 0x03, 0xFF, 0xC3});
    ASSERT_TRUE(geometry) << geometry.error().what;
    EXPECT_EQ(entries(geometry->tlbs, 1, 4 * kib), 64);
    EXPECT_EQ(entries(geometry->tlbs, 1, 2 * mib), 32);
    EXPECT_EQ(entries(geometry->tlbs, 1, gib), 4);
    EXPECT_EQ(entries(geometry->tlbs, 2, 4 * kib) * 4 * kib, 6 * mib);
    EXPECT_EQ(entries(geometry->tlbs, 2, 2 * mib), 1536);
    EXPECT_EQ(geometry->tlbs.front().source, "cpuid 2");
}

TEST(Descriptors, OfAPentium4GiveCachesToo) {
    const auto geometry = read_descriptors(descriptor_table(), {0x50, 0x5B, 0x66, 0x40, 0x70, 0x7B});
    ASSERT_TRUE(geometry) << geometry.error().what;
    ASSERT_EQ(geometry->caches.size(), 2U);
    EXPECT_EQ(geometry->caches[0].size_bytes, 8 * kib);
    EXPECT_EQ(geometry->caches[1].size_bytes, 512 * kib);
    EXPECT_EQ(entries(geometry->tlbs, 1, 4 * kib) * 4 * kib, 256 * kib);
    EXPECT_EQ(entries(geometry->tlbs, 1, 4 * mib) * 4 * mib, 256 * mib);
}

TEST(Geometry, FillsOnlyWhatTheHostLacks) {
    machine::Host host;
    host.tlbs = {{2, "unified", 4 * kib, 1536, 6, "cpuid 2"}};
    const auto geometry = geometry_of(R"({"tlbs": [
        {"level": 2, "kind": "data", "pages": ["4k", "2m"], "entries": 2048, "ways": 8},
        {"level": 1, "kind": "data", "pages": ["1g"], "entries": 4}]})");
    ASSERT_TRUE(geometry) << geometry.error().what;
    host = with_geometry(host, *geometry);
    ASSERT_EQ(host.tlbs.size(), 3U);
    EXPECT_EQ(entries(host.tlbs, 2, 4 * kib), 1536);
    EXPECT_EQ(entries(host.tlbs, 2, 2 * mib), 2048);
    EXPECT_EQ(host.tlbs[1].source, "table");
}

TEST(Geometry, KeepsTheHostsCaches) {
    machine::Host host;
    host.caches = {{1, "data", 32 * kib, 64, 8, 1, "cpuid 4"}};
    const auto geometry = geometry_of(R"({"caches": [{"level": 1, "kind": "data", "size": "48K"}]})");
    ASSERT_TRUE(geometry);
    EXPECT_EQ(with_geometry(host, *geometry).caches.size(), 1U);
    EXPECT_EQ(with_geometry({}, *geometry).caches.at(0).size_bytes, 48 * kib);
}

TEST(Geometry, SaysHowWideALoadIsAndWhichVectorsAreFastInMemory) {
    const auto geometry = geometry_of(R"({"core": {"load_bytes": 32, "memory_vector_bytes": 16}})");
    ASSERT_TRUE(geometry);
    EXPECT_EQ(with_geometry({}, *geometry).load_bytes, 32);
    EXPECT_EQ(with_geometry({}, *geometry).memory_vector_bytes, 16);
    EXPECT_EQ(with_geometry({}, HostGeometry{}).load_bytes, 0);
    EXPECT_EQ(with_geometry({}, HostGeometry{}).memory_vector_bytes, 0);
}

TEST(Geometry, ThatIsBrokenIsRefused) {
    for (const char* broken : {"", "[]", "{", R"({"tlbs": 1})", R"({"tlbs": [3]})", R"({"tlbs": [{"level": 1}]})",
                               R"({"tlbs": [{"pages": [4]}]})", R"({"caches": [{"size": "big"}]})"})
        EXPECT_FALSE(geometry_of(broken)) << broken;
    EXPECT_FALSE(read_descriptors(R"({"descriptors": {"0x03": 1}})", {3}));
    EXPECT_FALSE(read_descriptors("{}", {3}));
}

struct Wrong {
    const char* text;
    const char* said;
};

class WrongGeometry : public testing::TestWithParam<Wrong> {};

TEST_P(WrongGeometry, IsRefusedWithTheWayToIt) {
    const auto cpu = parse_cpu_geometry(GetParam().text, "x/geometry.json");
    ASSERT_FALSE(cpu);
    EXPECT_EQ(cpu.error().code, ErrorCode::bad_input);
    EXPECT_EQ(cpu.error().what, std::string("x/geometry.json") + GetParam().said);
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongGeometry,
    testing::Values(
        Wrong{"{\n\"core\": }", ":2:9: not valid JSON: a value expected instead of '}'"},
        Wrong{R"({"core": {"slot_width": "six"}})", ": core.slot_width is not a whole number of 0 or more"},
        Wrong{R"({"core": {"slot_width": 0}})", ": core.slot_width is below 1"},
        Wrong{R"({"core": {"decode_bytes": 0}})", ": core.decode_bytes is below 1"},
        Wrong{R"({"core": {"decode_width": 2.5}})", ": core.decode_width is not a whole number of 0 or more"},
        Wrong{R"({"core": {"store_buffer": -1}})", ": core.store_buffer is not a whole number of 0 or more"},
        Wrong{R"({"core": {"store_buffer": 1e12}})", ": core.store_buffer is too large"},
        Wrong{R"({"core": {"slot_width_by_id": {"a": 0}}})", ": core has a 'slot_width_by_id' of 0"},
        Wrong{R"({"core": {"port_binding": {"counts_age_cycles": 8, "difference": 1, "choices": []}}})",
              ": core.port_binding has counts that are older than 7 cycles"},
        Wrong{R"({"core": {"port_binding": {"counts_age_cycles": 2, "difference": 1,
                                            "choices": [{"ports": 2, "places": [0, 2]}]}}})",
              ": core.port_binding.choices[0] has a place that these ports do not have"},
        Wrong{R"({"core": {"stack_engine": 1}})", ": core.stack_engine is not true or false"},
        Wrong{R"({"caches": [{"level": 1, "kind": "data", "size": "big"}]})",
              ": caches[0].size is 'big', not a size such as 48K"},
        Wrong{R"({"caches": [{"level": 1, "kind": "date", "size": "48K"}]})",
              ": caches[0].kind is 'date'; did you mean 'data'?"},
        Wrong{R"({"caches": [{"level": 3, "kind": "unified", "size": "4M", "latency_cycles": 40, "slices": 8,
                             "slice_spread_cycles": 82}]})",
              ": caches[0] has slices whose lines come before they are asked for"},
        Wrong{R"({"caches": [{"level": 2, "kind": "unified", "size": "1M", "ways": 8, "makes_room_among": 9}]})",
              ": caches[0] makes room among more lines than a set of it has"},
        Wrong{R"({"tlbs": [{"level": 1, "kind": "data", "pages": 4, "entries": 1}]})",
              ": tlbs[0].pages is not an array"},
        Wrong{R"({"tlbs": [{"level": 1, "kind": "data", "pages": ["4k", "x"], "entries": 1}]})",
              ": tlbs[0].pages[1] is 'x', not a size such as 48K"},
        Wrong{R"({"prefetchers": {"region_lines_after": 16}})",
              ": prefetchers has more lines around one that misses than 15 before it and 15 after"},
        Wrong{R"({"memory": {"core_bandwidth_bytes_per_second": 0}})", ": memory has a bandwidth that is not above 0"},
        Wrong{R"({"memory": {"latency_ns": null}})", ": memory has a latency that is not above 0"},
        Wrong{R"({"frequency_hz": 0})", ": the text has a 'frequency_hz' that is not above 0"},
        Wrong{R"({"known_wrong": [{"what": "x"}]})", ": known_wrong[0].bytes is missing"},
        Wrong{R"({"corrections": [{"bytes": ["f2", "f"]}]})",
              ": corrections[0].bytes[1] is 'f', not bytes of two hexadecimal digits each"},
        Wrong{R"({"corrections": [{"latency": 2}]})", ": corrections[0] needs 'bytes' or 'instructions'"},
        Wrong{R"({"corrections": [{"instructions": "LEA", "ports": {"P0": "x"}}]})",
              ": corrections[0].ports.P0 is not a whole number of 0 or more"}));

TEST(Geometry, HistoriesOfBranchesAreOnesThatAPredictorCanHave) {
    const auto refused = [](const std::string& core) {
        const std::string text = fmt::format(R"({{"core": {{"llvm_cpu": "x", {}}}}})", core);
        const auto cpu = parse_cpu_geometry(text, "x/geometry.json");
        return cpu ? std::string("nothing") : cpu.error().what;
    };
    EXPECT_EQ(refused(R"("history_bits": 2, "direction_history": [3, 9], "target_history": [511])"), "nothing");
    EXPECT_NE(refused(R"("history_bits": 2, "direction_history": [3, 512])").find("more than 511"), std::string::npos);
    EXPECT_NE(refused(R"("history_bits": 2, "target_history": [0])").find("of 0"), std::string::npos);
    EXPECT_NE(refused(R"("history_bits": 2, "target_history": [1, 2, 3, 4, 5, 6, 7, 8, 9])").find("8 tables"),
              std::string::npos);
    EXPECT_NE(refused(R"("direction_history": [3])").find("of nothing"), std::string::npos);
    const std::string tables = R"("history_bits": 2, "direction_history": [3, 9], "target_history": [3, 9], )";
    EXPECT_EQ(refused(tables + R"("conditional_history": [5, 26])"), "nothing");
    EXPECT_NE(refused(tables + R"("conditional_history": [5])").find("of other tables"), std::string::npos);
    EXPECT_EQ(refused(tables + R"("foretelling": {"quick_length": 2})"), "nothing");
    EXPECT_NE(refused(tables + R"("foretelling": {"quick_length": 3})").find("as none of its tables"),
              std::string::npos);
    EXPECT_NE(refused(R"("history_bits": 30, "history_target_bits": 6)").find("32 bits"), std::string::npos);
    EXPECT_NE(refused(R"("foretelling": {"direction_counter_bits": 4})").find("2 nor 3"), std::string::npos);
}

}  // namespace
}  // namespace tmaprobe::events
