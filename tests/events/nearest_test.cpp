#include "events/nearest.h"

#include <gmock/gmock.h>

#include <set>

#include "base/sizes.h"
#include "events/geometry.h"
#include "events/model_tree.h"

namespace tmaprobe::events {
namespace {

const CoreChoice& embedded_choice() {
    static const CoreChoice choice = read_core_choice({}).value();
    return choice;
}

std::vector<std::string> features_of(const std::string& folder) {
    for (const KnownCore& core : embedded_choice().cores)
        if (core.folder == folder) return core.features;
    ADD_FAILURE() << folder;
    return {};
}

/// A CPU that nobody listed, made of a known core's features and further ones.
machine::Host invented(const std::string& id, std::vector<std::string> features, std::uint64_t l1 = 0,
                       std::uint64_t l2 = 0) {
    machine::Host cpu;
    cpu.cpu_id = id;
    cpu.architecture = id.starts_with("0x") ? "aarch64" : "x86_64";
    cpu.features = std::move(features);
    if (l1) cpu.caches.push_back({1, "data", l1, 64, 8, 1, ""});
    if (l2) cpu.caches.push_back({2, "unified", l2, 64, 8, 1, ""});
    return cpu;
}

std::vector<std::string> with(std::vector<std::string> features, const std::vector<std::string>& more) {
    features.insert(features.end(), more.begin(), more.end());
    return features;
}

std::string nearest_to(const machine::Host& cpu) {
    const auto nearest = nearest_core(embedded_choice(), cpu);
    return nearest ? nearest->core : nearest.error().what;
}

TEST(Nearest, EveryCoreIsNearestToItselfOrToItsTwin) {
    for (const KnownCore& core : embedded_choice().cores) {
        std::string id = "nobody";
        for (const auto& vendor : embedded_choice().vendors)
            if (vendor.name == core.vendor) id = vendor.prefix + "-1-1-1";
        machine::Host cpu = invented(id, core.features, core.l1_data_bytes, core.l2_bytes);
        cpu.architecture = id.starts_with("0x") ? "aarch64" : "x86_64";
        const std::string found = nearest_to(cpu);
        EXPECT_EQ(features_of(found), core.features) << core.folder << " gets " << found;
    }
}

TEST(Nearest, AFutureAmdIsLikeTheNewestZen) {
    const auto features = with(features_of("amdzen6"), {"of_the_future"});
    EXPECT_EQ(nearest_to(invented("AuthenticAMD-27-1-0", features, 64 * kib, 2048 * kib)), "amdzen6");
}

TEST(Nearest, AFutureModelOfAnOldFamilyIsLikeThatFamily) {
    EXPECT_EQ(nearest_to(invented("AuthenticAMD-28-1-0", features_of("amdzen2"), 32 * kib, 512 * kib)), "amdzen2");
}

TEST(Nearest, AFutureIntelServerIsLikeTheNewestWithAmx) {
    const auto features = with(features_of("graniterapids"), {"of_the_future"});
    EXPECT_EQ(nearest_to(invented("GenuineIntel-19-1-0", features, 48 * kib, 2048 * kib)), "graniterapids");
}

TEST(Nearest, AFutureIntelWithoutAvx512IsNoServerCore) {
    const auto features = with(features_of("lunarlake"), {"of_the_future"});
    const std::string found = nearest_to(invented("GenuineIntel-18-3-0", features, 48 * kib, 3072 * kib));
    EXPECT_THAT(found, testing::AnyOf("lunarlake", "arrowlake", "pantherlake"));
}

TEST(Nearest, WhatAHypervisorHidesMattersLess) {
    auto features = features_of("sapphirerapids");
    std::erase(features, "amx_tile");
    std::erase(features, "waitpkg");
    EXPECT_THAT(nearest_to(invented("GenuineIntel-6-FE-1", features, 48 * kib, 2048 * kib)),
                testing::AnyOf("sapphirerapids", "emeraldrapids"));
}

TEST(Nearest, HygonIsMadeAfterZen) {
    EXPECT_EQ(nearest_to(invented("HygonGenuine-24-0-1", {})), "amdzen1");
    // A later family of Hygon's has no relative here: AMD's cores are its vendor's.
    EXPECT_EQ(nearest_to(invented("HygonGenuine-30-0-1", features_of("amdzen3"), 32 * kib, 512 * kib)), "amdzen3");
}

TEST(Nearest, ACloudVendorsArmCoreWithTheArmPartIsThatCore) {
    EXPECT_EQ(nearest_to(invented("0x000000006d0fd490", {})), "0x00000000410fd490");
}

TEST(Nearest, AnUnknownArmCoreIsChosenByItsFeatures) {
    const auto features = with(features_of("neoverse-v3"), {"of_the_future"});
    EXPECT_EQ(nearest_to(invented("0x00000000410ffff0", features, 64 * kib, 2048 * kib)), "neoverse-v3");
    EXPECT_EQ(nearest_to(invented("0x00000000700f6620", {"atomics", "asimddp"}, 64 * kib, 1024 * kib)), "neoverse-n1");
}

TEST(Nearest, WithoutAVendorTheInstructionSetDecides) {
    EXPECT_EQ(nearest_to(invented("CentaurHauls-7-3B-2", features_of("haswell"), 32 * kib, 256 * kib)), "haswell");
    machine::Host nobody;
    nobody.architecture = "x86_64";
    EXPECT_FALSE(nearest_to(nobody).starts_with("neoverse"));
    nobody.architecture = "aarch64";
    EXPECT_THAT(nearest_to(nobody),
                testing::AnyOf(testing::HasSubstr("neoverse"), "hip08", "t410", testing::HasSubstr("ampere")));
}

TEST(Nearest, NoCoreAtAllIsSaid) { EXPECT_FALSE(nearest_core(CoreChoice{}, invented("GenuineIntel-6-FE-1", {}))); }

TEST(OtherCoreThanNamed, AModelNumberThatTheFeaturesContradictIsNotBelieved) {
    const auto rocket_lake = load({}, "GenuineIntel-6-A7-1");
    ASSERT_TRUE(rocket_lake) << rocket_lake.error().what;
    const auto server = features_of("graniterapids");
    const auto other =
        other_core_than_named({}, *rocket_lake, invented("GenuineIntel-6-A7-1", server, 48 * kib, 2048 * kib));
    ASSERT_TRUE(other) << other.error().what;
    ASSERT_TRUE(*other);
    EXPECT_EQ((*other)->folder, "graniterapids");
    EXPECT_EQ((*other)->named_title, rocket_lake->title);
    EXPECT_THAT((*other)->features, testing::IsSupersetOf({"amx_tile", "avx512_fp16"}));
}

/// Granite Rapids has an instruction cache of twice the size; the feature of its own can be hidden, the size is not.
TEST(OtherCoreThanNamed, TheInstructionCacheTellsCoresApartWhoseFeatureIsHidden) {
    const auto rocket_lake = load({}, "GenuineIntel-6-A7-1");
    ASSERT_TRUE(rocket_lake) << rocket_lake.error().what;
    auto server = features_of("graniterapids");
    for (const char* hidden : {"amx_fp16", "waitpkg", "wbnoinvd"}) std::erase(server, hidden);
    for (const auto& [bytes, folder] :
         {std::pair{64 * kib, std::string("graniterapids")}, {32 * kib, std::string("emeraldrapids")}}) {
        auto cpu = invented("GenuineIntel-6-A7-1", server, 48 * kib, 2048 * kib);
        cpu.caches.push_back({1, "instruction", bytes, 64, 16, 1, ""});
        const auto other = other_core_than_named({}, *rocket_lake, cpu);
        ASSERT_TRUE(other) << other.error().what;
        ASSERT_TRUE(*other);
        EXPECT_EQ((*other)->folder, folder);
    }
}

TEST(OtherCoreThanNamed, ItsTranslationBuffersAreThoseOfTheMachine) {
    auto cpu = invented("GenuineIntel-6-A7-1", features_of("graniterapids"), 48 * kib, 2048 * kib);
    const auto first_level = [](const machine::Host& host) {
        for (const machine::Tlb& tlb : complete_geometry(host, {}).tlbs)
            if (tlb.level == 1 && tlb.kind == "data" && tlb.page_bytes == 4 * kib) return tlb.entries;
        return 0;
    };
    EXPECT_EQ(first_level(cpu), 96);
    cpu.features = features_of("rocketlake");
    EXPECT_EQ(first_level(cpu), 64);
}

TEST(OtherCoreThanNamed, EveryCoreIsBelievedWithItsOwnFeaturesAndAVariants) {
    for (const KnownCore& core : embedded_choice().cores) {
        const auto table = load({}, core.folder);
        ASSERT_TRUE(table) << core.folder;
        for (const auto& more : {std::vector<std::string>{}, {"avx512_bf16"}, {"sha512", "avx_vnni_int16"}}) {
            const auto other =
                other_core_than_named({}, *table, invented("GenuineIntel-6-1-1", with(core.features, more)));
            ASSERT_TRUE(other) << other.error().what;
            EXPECT_FALSE(*other) << core.folder;
        }
    }
}

TEST(OtherCoreThanNamed, WhatAHypervisorHidesContradictsNothing) {
    const auto table = load({}, "sapphirerapids");
    ASSERT_TRUE(table);
    const auto other = other_core_than_named({}, *table, invented("GenuineIntel-6-8F-8", {"avx2", "fma"}));
    ASSERT_TRUE(other);
    EXPECT_FALSE(*other);
}

TEST(StandIn, HasTheModelsTreeAndNoEncodingOfTheNeighbour) {
    const auto stand_in = stand_in_for({}, invented("AuthenticAMD-27-1-0", features_of("amdzen6")));
    ASSERT_TRUE(stand_in) << stand_in.error().what;
    const Table& table = stand_in->table;
    EXPECT_EQ(table.folder, "amdzen6");
    EXPECT_TRUE(has_model_tree(table));
    EXPECT_TRUE(table.libpfm4_pmu.empty());
    for (const EventDefinition& event : table.events) EXPECT_EQ(event.pmu, model_pmu) << event.name;
    EXPECT_FALSE(resolve(table, "de_no_dispatch_per_slot.backend_stalls"));
    EXPECT_TRUE(resolve(table, "cycles"));
}

TEST(ModelTree, StandsBesideWhatTheVendorHas) {
    auto table = load({}, "amdzen3");
    ASSERT_TRUE(table);
    EXPECT_FALSE(has_tree(*table));
    ASSERT_TRUE(add_model_tree({}, *table));
    std::set<std::string> nodes;
    for (const auto& metric : table->metrics)
        if (metric.level > 0) nodes.insert(metric.name);
    EXPECT_THAT(nodes, testing::ElementsAre("backend_bound", "backend_bound_core", "backend_bound_memory",
                                            "bad_speculation", "bad_speculation_recovery", "bad_speculation_wrong_path",
                                            "frontend_bound", "frontend_bound_bandwidth", "frontend_bound_latency",
                                            "retiring", "retiring_fastpath", "retiring_microcode"));
    const std::string name = "tlb_data_walks_pki";
    const auto walks = std::ranges::find(table->metrics, name, &metrics::MetricDefinition::name);
    ASSERT_NE(walks, table->metrics.end());
    EXPECT_THAT(walks->expression, testing::HasSubstr("l2_dtlb_misses")) << "the CPU's own events come first";
    EXPECT_THAT(below_model_tree(*table),
                testing::IsSupersetOf({"cycles", "instructions", "instructions_per_cycle", "branch_mispredictions_pki",
                                       "l1d_misses_pki", "l2_misses_pki", "l3_misses_pki", "tlb_data_walks_pki"}));
}

}  // namespace
}  // namespace tmaprobe::events
