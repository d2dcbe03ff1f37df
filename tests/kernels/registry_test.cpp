#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/kernel.h"

namespace tmaprobe::kernels {
namespace {

machine::Host host_with(std::vector<std::string> features) {
    machine::Host host;
    host.architecture = "x86_64";
    host.features = std::move(features);
    return host;
}

}  // namespace

TEST(Registry, FindsKernelsByNameAndSuggestsTheNearest) {
    EXPECT_EQ((*find("sha256"))->name, "sha256");
    const auto wrong = find("sha265");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::bad_usage);
    EXPECT_NE(wrong.error().hint.find("sha256"), std::string::npos) << wrong.error().hint;
}

TEST(Registry, WhatIsNoOptionOfAKernelFollowsFromThoseItHas) {
    const auto chase = find("chase");
    ASSERT_TRUE(chase);
    EXPECT_EQ(derived_names(**chase, {{"chains", "1"}, {"lines", "64"}, {"order", "random"}}),
              std::vector<std::string>{"lines"});
}

TEST(Registry, EveryKernelSaysWhatItIs) {
    for (const KernelDescriptor& kernel : all()) {
        EXPECT_FALSE(kernel.name.empty());
        EXPECT_FALSE(kernel.what.empty()) << kernel.name;
        EXPECT_FALSE(kernel.operation.empty()) << kernel.name;
        EXPECT_FALSE(kernel.bottleneck.empty()) << kernel.name;
        EXPECT_NE(kernel.make, nullptr) << kernel.name;
        ASSERT_FALSE(kernel.variants.empty()) << kernel.name;
        EXPECT_TRUE(kernel.variants.back().needs.empty()) << kernel.name << " must have a variant for any CPU";
        EXPECT_EQ(kernel.uses_memory, kernel.default_size != 0) << kernel.name;
        for (const Option& option : kernel.options) {
            const auto& choices = option.choices;
            EXPECT_TRUE(choices.empty() ||
                        std::find(choices.begin(), choices.end(), option.default_value) != choices.end())
                << kernel.name << " " << option.name;
        }
    }
}

#if defined(__x86_64__)
TEST(ChooseVariant, TakesTheFirstThatTheCpuHasAllInstructionsFor) {
    const KernelDescriptor& kernel = **find("sha256");
    EXPECT_EQ(choose_variant(kernel, "", host_with({"ssse3", "sse4_1", "sha_ni", "avx2", "bmi1", "bmi2"}))->name,
              "shani");
    EXPECT_EQ(choose_variant(kernel, "", host_with({"ssse3", "sse4_1", "avx2", "bmi1", "bmi2"}))->name, "avx2");
    EXPECT_EQ(choose_variant(kernel, "", host_with({"ssse3", "avx2"}))->name, "ssse3");
    EXPECT_EQ(choose_variant(kernel, "", host_with({}))->name, "portable");
}

TEST(ChooseVariant, TakesNoVectorsWiderThanTheCoresLoadsUnlessAsked) {
    const KernelDescriptor& kernel = **find("stream");
    machine::Host host = host_with({"avx2", "fma", "avx512f"});
    EXPECT_EQ(choose_variant(kernel, "", host)->name, "avx512");
    host.load_bytes = 64;
    EXPECT_EQ(choose_variant(kernel, "", host)->name, "avx512");
    host.load_bytes = 32;
    EXPECT_EQ(choose_variant(kernel, "", host)->name, "avx2");
    EXPECT_EQ(choose_variant(kernel, "avx512", host)->name, "avx512");
}

TEST(ChooseVariant, TakesTheVectorsThatTheTableNamesForMemoryBeyondTheCaches) {
    const KernelDescriptor& kernel = **find("stream");
    machine::Host host = host_with({"avx2", "fma", "avx512f"});
    host.load_bytes = 32;
    host.memory_vector_bytes = 16;
    host.caches = {{.level = 1, .kind = "data", .size_bytes = 32 << 10},
                   {.level = 3, .kind = "unified", .size_bytes = 32 << 20}};
    const auto chosen = [&](std::uint64_t size, const std::string& op) {
        Parameters parameters;
        parameters.size_bytes = size;
        parameters.options["op"] = op;
        return choose_variant(kernel, "", host, parameters)->name;
    };
    EXPECT_EQ(chosen(32 << 20, "copy"), "avx2");
    EXPECT_EQ(chosen((32 << 20) + 64, "copy"), "sse2");
    EXPECT_EQ(chosen(256 << 20, "ntwrite"), "avx512") << "stores past the caches are as wide as a line";
    host.memory_vector_bytes = 0;
    EXPECT_EQ(chosen(256 << 20, "copy"), "avx2") << "nothing said: as in the caches";
    host.memory_vector_bytes = 16, host.caches.clear();
    EXPECT_EQ(chosen(256 << 20, "copy"), "avx2") << "no cache known: no block is beyond it";
}

TEST(ChooseVariant, RefusesWhatTheCpuLacksAndNamesIt) {
    const auto refused = choose_variant(**find("sha256"), "shani", host_with({"ssse3", "sse4_1"}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_NE(refused.error().what.find("sha_ni"), std::string::npos) << refused.error().what;
    EXPECT_EQ(refused.error().what.find("ssse3"), std::string::npos) << refused.error().what;
}

TEST(ChooseVariant, RefusesAnotherArchitecturesVariantHoweverTheHostIsDescribed) {
    const auto refused = choose_variant(**find("sha256"), "armv8", host_with({"sha2"}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
}
#endif

TEST(ChooseVariant, SuggestsForAnUnknownName) {
    const auto wrong = choose_variant(**find("sha256"), "portabel", host_with({}));
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::bad_usage);
    EXPECT_NE(wrong.error().hint.find("portable"), std::string::npos);
}

TEST(ParseSpec, ReadsTheKernelAlone) {
    const auto spec = parse_spec("sha256");
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->kernel->name, "sha256");
    EXPECT_EQ(spec->parameters.size_bytes, 0U);
}

TEST(ParseSpec, ReadsSizePagesVariantAndCpus) {
    const auto spec = parse_spec("sha256:size=8M,variant=portable,cpus=0+1,numa-node=0");
    ASSERT_TRUE(spec) << spec.error().what;
    EXPECT_EQ(spec->parameters.size_bytes, 8U << 20);
    EXPECT_EQ(spec->variant, "portable");
    EXPECT_EQ(spec->parameters.cpus, (std::vector<int>{0, 1}));
    EXPECT_EQ(spec->parameters.numa_node, 0);
}

TEST(ParseSpec, RefusesEachKindOfNonsense) {
    for (const char* text : {"", ":", "sha256:", "sha256:size", "sha256:=4", "sha256:size=0", "sha256:size=x",
                             "sha256:colour=red", "sha256:size=1K,", "sha256:cpus=1+", "sha256:pages=3k",
                             "nothing:size=1K", "sha256:cpus=-1", "sha256:numa-node=x"}) {
        const auto spec = parse_spec(text);
        ASSERT_FALSE(spec) << text;
        EXPECT_EQ(spec.error().code, ErrorCode::bad_usage) << text;
        EXPECT_FALSE(spec.error().what.empty());
    }
}

TEST(Parameters, MoreCpusThanTheKernelHasThreadsAreRefused) {
    Parameters parameters;
    parameters.cpus = {0, 1};
    const auto kernel = (*find("sha256"))->make("portable", parameters);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, ErrorCode::bad_usage);
}

TEST(Parameters, AnOptionThatTheKernelDoesNotHaveIsRefused) {
    Parameters parameters;
    parameters.options["chains"] = "4";
    const auto kernel = (*find("sha256"))->make("portable", parameters);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, ErrorCode::bad_usage);
}

}  // namespace tmaprobe::kernels
