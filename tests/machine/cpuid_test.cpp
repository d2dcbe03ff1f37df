#include "machine/cpuid.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/sizes.h"
#include "tests/machine/recorded_cpuid_fake.h"

namespace tmaprobe::machine {
namespace {

/// Entries that serve loads at this level for this page size.
int data_entries(const std::vector<Tlb>& tlbs, int level, std::uint64_t page_bytes) {
    int entries = 0;
    for (const Tlb& tlb : tlbs)
        if (tlb.level == level && tlb.page_bytes == page_bytes && (tlb.kind == "data" || tlb.kind == "unified"))
            entries += tlb.entries;
    return entries;
}

Cache cache(const std::vector<Cache>& caches, int level, const std::string& kind) {
    const auto found = std::find_if(caches.begin(), caches.end(),
                                    [&](const Cache& one) { return one.level == level && one.kind == kind; });
    return found == caches.end() ? Cache{} : *found;
}

struct Identity {
    std::string dump, id, brand, hypervisor;
};

class CpuidIdentity : public testing::TestWithParam<Identity> {};

TEST_P(CpuidIdentity, IsSpelledAsPerfDoes) {
    const CpuidReader cpuid = recorded_cpuid(GetParam().dump);
    EXPECT_EQ(cpuid_id(cpuid), GetParam().id);
    EXPECT_EQ(cpuid_brand(cpuid), GetParam().brand);
    EXPECT_EQ(cpuid_hypervisor(cpuid), GetParam().hypervisor);
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, CpuidIdentity,
    testing::Values(Identity{"cascade_lake", "GenuineIntel-6-55-7", "Intel(R) Xeon(R) Gold 5215 CPU @ 2.50GHz", ""},
                    Identity{"cascade_lake_kvm", "GenuineIntel-6-55-7", "", "KVM"},
                    Identity{"sapphire_rapids", "GenuineIntel-6-8F-8", "Intel(R) Xeon(R) w7-2475X", ""},
                    Identity{"skylake_i5_6400t", "GenuineIntel-6-5E-3", "Intel(R) Core(TM) i5-6400T CPU @ 2.20GHz", ""},
                    Identity{"zen2_epyc_7742", "AuthenticAMD-23-31-0", "AMD EPYC 7742 64-Core Processor", ""},
                    Identity{"zen4_epyc_kvm", "AuthenticAMD-25-11-1", "AMD EPYC", "KVM"},
                    Identity{"zen4_ryzen_7600x", "AuthenticAMD-25-61-2", "AMD Ryzen 5 7600X 6-Core Processor", ""},
                    Identity{"pentium4_northwood", "GenuineIntel-15-2-4", "Intel(R) Pentium(R) 4 CPU 1.60GHz", ""}),
    [](const auto& info) { return info.param.dump; });

TEST(CpuidIdentity, IsEmptyWithoutCpuid) {
    const CpuidReader none = [](std::uint32_t, std::uint32_t) { return CpuidRegisters{}; };
    EXPECT_EQ(cpuid_id(none), "");
    EXPECT_EQ(cpuid_brand(none), "");
    EXPECT_EQ(cpuid_hypervisor(none), "");
    EXPECT_EQ(cpuid_tsc_hz(none), 0);
    EXPECT_TRUE(cpuid_caches(none).empty());
    EXPECT_TRUE(cpuid_tlbs(none).empty());
    EXPECT_TRUE(cpuid_descriptors(none).empty());
}

TEST(CpuidHypervisor, BehindHyperVsInterfaceIsKvm) {
    const CpuidReader cpuid = [](std::uint32_t leaf, std::uint32_t) -> CpuidRegisters {
        if (leaf == 1) return {0, 0, 1U << 31, 0};
        if (leaf == 0x40000000) return {0x40000006, 0x7263694d, 0x666f736f, 0x76482074};  // "Microsoft Hv"
        if (leaf == 0x40000100) return {0x40000101, 0x4b4d564b, 0x564b4d56, 0x4d};        // "KVMKVMKVM"
        return {};
    };
    EXPECT_EQ(cpuid_hypervisor(cpuid), "KVM");
}

TEST(CpuidHypervisor, ThatIsUnknownKeepsItsLetters) {
    const CpuidReader cpuid = [](std::uint32_t leaf, std::uint32_t) -> CpuidRegisters {
        if (leaf == 1) return {0, 0, 1U << 31, 0};
        if (leaf == 0x40000000) return {0, 0x44434241, 0x48474645, 0x01000049};  // "ABCDEFGHI", then no letter
        return {};
    };
    EXPECT_EQ(cpuid_hypervisor(cpuid), "ABCDEFGHI?");
}

TEST(CpuidTsc, ComesFromLeaf15) { EXPECT_DOUBLE_EQ(cpuid_tsc_hz(recorded_cpuid("sapphire_rapids")), 2.592e9); }

TEST(CpuidTsc, WithoutCrystalFrequencyIsUnknown) { EXPECT_EQ(cpuid_tsc_hz(recorded_cpuid("skylake_i5_6400t")), 0); }

TEST(CpuidCaches, OfZen2AreSharedByOneCcx) {
    const auto caches = cpuid_caches(recorded_cpuid("zen2_epyc_7742"));
    ASSERT_EQ(caches.size(), 4U);
    EXPECT_EQ(cache(caches, 1, "data").size_bytes, 32 * kib);
    EXPECT_EQ(cache(caches, 1, "data").shared_by, 2);
    EXPECT_EQ(cache(caches, 2, "unified").size_bytes, 512 * kib);
    const Cache last = cache(caches, 3, "unified");
    EXPECT_EQ(last.size_bytes, 16 * mib);
    EXPECT_EQ(last.shared_by, 8);
    EXPECT_EQ(last.ways, 16);
    EXPECT_EQ(last.source, "cpuid 8000001Dh");
    EXPECT_EQ(cpuid_package_l3_bytes(recorded_cpuid("zen2_epyc_7742")), 256 * mib);
}

TEST(CpuidCaches, OfIntelComeFromLeaf4) {
    const auto caches = cpuid_caches(recorded_cpuid("cascade_lake_kvm"));
    ASSERT_EQ(caches.size(), 4U);
    EXPECT_EQ(cache(caches, 1, "data").size_bytes, 32 * kib);
    EXPECT_EQ(cache(caches, 1, "instruction").size_bytes, 32 * kib);
    EXPECT_EQ(cache(caches, 2, "unified").size_bytes, mib);
    EXPECT_EQ(cache(caches, 3, "unified").size_bytes, 36608 * kib);  // 35.75 MiB
    EXPECT_EQ(cache(caches, 3, "unified").ways, 11);
}

TEST(CpuidCaches, WithoutTheNewLeavesComeFromAmdsOldOnes) {
    const CpuidReader full = recorded_cpuid("zen2_epyc_7742");
    const CpuidReader old = [full](std::uint32_t leaf, std::uint32_t subleaf) {
        return leaf == 0x8000001D ? CpuidRegisters{} : full(leaf, subleaf);
    };
    const auto caches = cpuid_caches(old);
    EXPECT_EQ(cache(caches, 1, "data").size_bytes, 32 * kib);
    EXPECT_EQ(cache(caches, 1, "data").ways, 8);
    EXPECT_EQ(cache(caches, 2, "unified").size_bytes, 512 * kib);
    EXPECT_EQ(cache(caches, 2, "unified").ways, 8);
    EXPECT_EQ(cache(caches, 3, "unified").size_bytes, 256 * mib);
}

TEST(CpuidTlbs, OfZen2ReachEightMegabytes) {
    const auto tlbs = cpuid_tlbs(recorded_cpuid("zen2_epyc_7742"));
    EXPECT_EQ(data_entries(tlbs, 1, 4 * kib), 64);
    EXPECT_EQ(data_entries(tlbs, 1, 2 * mib), 64);
    EXPECT_EQ(data_entries(tlbs, 1, gib), 64);
    EXPECT_EQ(data_entries(tlbs, 2, 4 * kib) * 4 * kib, 8 * mib);
    EXPECT_EQ(data_entries(tlbs, 2, 2 * mib) * 2 * mib, 4 * gib);
    EXPECT_EQ(tlbs.front().ways, -1);
}

TEST(CpuidTlbs, OfZen4HoldMore) {
    const auto bare = cpuid_tlbs(recorded_cpuid("zen4_ryzen_7600x"));
    EXPECT_EQ(data_entries(bare, 1, 4 * kib), 72);
    EXPECT_EQ(data_entries(bare, 2, 4 * kib), 3072);
    EXPECT_EQ(data_entries(bare, 2, 2 * mib), 3072);
    EXPECT_EQ(data_entries(bare, 1, gib), 72);
    EXPECT_EQ(data_entries(bare, 2, gib), 64);
    // The same core as a guest: the leaf for 1G pages is silent, nothing is invented for it.
    EXPECT_EQ(data_entries(cpuid_tlbs(recorded_cpuid("zen4_epyc_kvm")), 1, gib), 0);
}

TEST(CpuidTlbs, OfSapphireRapidsComeFromLeaf18) {
    const auto tlbs = cpuid_tlbs(recorded_cpuid("sapphire_rapids"));
    EXPECT_EQ(data_entries(tlbs, 1, 2 * mib), 32);
    EXPECT_EQ(data_entries(tlbs, 1, gib), 8);
    // Two halves of 1024 take 4K pages, one of them 2M pages and the other 1G pages.
    EXPECT_EQ(data_entries(tlbs, 2, 4 * kib), 2048);
    EXPECT_EQ(data_entries(tlbs, 2, 2 * mib), 1024);
    EXPECT_EQ(data_entries(tlbs, 2, gib), 1024);
    const auto stores = std::find_if(tlbs.begin(), tlbs.end(), [](const Tlb& tlb) { return tlb.kind == "store"; });
    ASSERT_NE(stores, tlbs.end());
    EXPECT_EQ(stores->entries, 16);
    EXPECT_EQ(stores->ways, -1);
}

TEST(CpuidTlbs, OfSilentLeaf18AreEmpty) { EXPECT_TRUE(cpuid_tlbs(recorded_cpuid("cascade_lake_kvm")).empty()); }

TEST(CpuidDescriptors, AreReadInOrderWithoutTheCallCount) {
    EXPECT_EQ(cpuid_descriptors(recorded_cpuid("cascade_lake_kvm")),
              (std::vector<std::uint8_t>{0x63, 0x03, 0xFF, 0xC3}));
    EXPECT_EQ(cpuid_descriptors(recorded_cpuid("pentium4_northwood")),
              (std::vector<std::uint8_t>{0x50, 0x5B, 0x66, 0x40, 0x70, 0x7B}));
}

TEST(CpuidDescriptors, OfARegisterWithItsTopBitSetAreInvalid) {
    const CpuidReader cpuid = [](std::uint32_t leaf, std::uint32_t) -> CpuidRegisters {
        if (leaf == 0) return {2, 0x756e6547, 0x6c65746e, 0x49656e69};
        return {0x00000301, 0x800000C3, 0, 0};
    };
    EXPECT_EQ(cpuid_descriptors(cpuid), std::vector<std::uint8_t>{0x03});
}

TEST(CpuidContradictions, NameTheLeafThatIsWrong) {
    const auto notes = cpuid_contradictions(recorded_cpuid("cascade_lake_kvm"));
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0], "CPUID 80000006h says that the L2 cache has 256K, cpuid 4 says 1M: the latter is used");
    EXPECT_TRUE(cpuid_contradictions(recorded_cpuid("zen2_epyc_7742")).empty());
}

TEST(CpuidCaches, OfANonsenseProcessorEndSomewhere) {
    const CpuidReader ones = [](std::uint32_t, std::uint32_t) { return CpuidRegisters{~0U, ~0U, ~0U, ~0U}; };
    EXPECT_LE(cpuid_caches(ones).size(), 16U);
    EXPECT_LE(cpuid_tlbs(ones).size(), 256U);
}

}  // namespace
}  // namespace tmaprobe::machine
