#include "events/geometry.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace tmaprobe::events {
namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

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
    const auto geometry = read_geometry(R"({"tlbs": [
        {"level": 2, "kind": "data", "pages": ["4k", "2m"], "entries": 2048, "ways": 8},
        {"level": 1, "kind": "data", "page_bytes": 1073741824, "entries": 4}]})");
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
    const auto geometry = read_geometry(R"({"caches": [{"level": 1, "kind": "data", "size": "48K"}]})");
    ASSERT_TRUE(geometry);
    EXPECT_EQ(with_geometry(host, *geometry).caches.size(), 1U);
    EXPECT_EQ(with_geometry({}, *geometry).caches.at(0).size_bytes, 48 * kib);
}

TEST(Geometry, SaysHowWideALoadIsAndWhichVectorsAreFastInMemory) {
    const auto geometry = read_geometry(R"({"core": {"load_bytes": 32, "memory_vector_bytes": 16}})");
    ASSERT_TRUE(geometry);
    EXPECT_EQ(with_geometry({}, *geometry).load_bytes, 32);
    EXPECT_EQ(with_geometry({}, *geometry).memory_vector_bytes, 16);
    EXPECT_EQ(with_geometry({}, Geometry{}).load_bytes, 0);
    EXPECT_EQ(with_geometry({}, Geometry{}).memory_vector_bytes, 0);
}

TEST(Geometry, ThatIsBrokenIsRefused) {
    for (const char* broken : {"", "[]", "{", R"({"tlbs": 1})", R"({"tlbs": [3]})", R"({"tlbs": [{"level": 1}]})",
                               R"({"tlbs": [{"pages": [4]}]})", R"({"caches": [{"size": "big"}]})"})
        EXPECT_FALSE(read_geometry(broken)) << broken;
    EXPECT_FALSE(read_descriptors(R"({"descriptors": {"0x03": 1}})", {3}));
    EXPECT_FALSE(read_descriptors("{}", {3}));
}

}  // namespace
}  // namespace tmaprobe::events
