#include "kernels/sha256/sha256.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "machine/features.h"
#include "machine/host.h"

namespace tmaprobe::kernels::sha256 {
namespace {

/// The variants that the CPU under this test can run: that of an emulator, when it runs in one.
std::vector<Variant> runnable() {
    machine::Host host;
    host.features = machine::instruction_set_features();
    std::vector<Variant> result;
    const KernelDescriptor& kernel = **find("sha256");
    for (const Variant& variant : kernel.variants)
        if (choose_variant(kernel, variant.name, host)) result.push_back(variant);
    return result;
}

std::string hex(const Digest& digest) {
    std::string text;
    for (const std::uint8_t byte : digest) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

std::string hash_of(const Variant& variant, const std::string& message) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(message.data());
    return hex(hash(find_compress(variant.name.c_str()), {bytes, message.size()}));
}

}  // namespace

// Vectors of FIPS 180-4's examples and of NIST's cryptographic algorithm validation program.
TEST(Sha256Vectors, HoldForEveryVariantThatThisCpuRuns) {
    const struct {
        std::string message, digest;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
         "mnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {std::string(1, '\xbd'), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
        {std::string(55, '\0'), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
        {std::string(56, '\0'), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
        {std::string(57, '\0'), "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"},
        {std::string(64, '\0'), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
        {std::string(1000, '\0'), "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"},
        {std::string(1000, 'A'), "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4"},
        {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (const Variant& variant : runnable())
        for (const auto& vector : vectors)
            EXPECT_EQ(hash_of(variant, vector.message), vector.digest)
                << variant.name << ", " << vector.message.size() << " bytes";
}

TEST(Sha256Variants, AgreeOnRandomMessagesOfEveryLength) {
    std::mt19937 random(20240601);
    std::string message(70'000, '\0');
    for (char& byte : message) byte = static_cast<char>(random());
    std::vector<std::size_t> lengths{4095, 4096, 4097, 16384, 65535, 69'999};
    for (std::size_t length = 0; length <= 300; ++length) lengths.push_back(length);
    const Variant portable = runnable().back();
    ASSERT_EQ(portable.name, "portable");
    for (const std::size_t length : lengths) {
        // From an odd address too: nothing may ask for alignment.
        const std::string part = message.substr(length % 7, length);
        const std::string expected = hash_of(portable, part);
        for (const Variant& variant : runnable())
            ASSERT_EQ(hash_of(variant, part), expected) << variant.name << ", " << length << " bytes";
    }
}

TEST(Sha256Variants, FoldAnyNumberOfBlocksIntoAnyState) {
    std::mt19937 random(7);
    std::vector<std::uint8_t> data(64 * 9 + 1);
    for (auto& byte : data) byte = static_cast<std::uint8_t>(random());
    State start;
    for (auto& word : start) word = random();
    for (std::size_t blocks = 0; blocks <= 9; ++blocks) {
        State expected = start;
        compress_portable(expected, data.data() + 1, blocks);
        for (const Variant& variant : runnable()) {
            State state = start;
            find_compress(variant.name.c_str())(state, data.data() + 1, blocks);
            EXPECT_EQ(state, expected) << variant.name << ", " << blocks << " blocks";
        }
    }
}

TEST(Sha256Variants, ThisCpuRunsAtLeastThePortableOne) {
    std::string names;
    for (const Variant& variant : runnable()) names += " " + variant.name;
    RecordProperty("variants", names);
    std::printf("variants run:%s\n", names.c_str());
    EXPECT_NE(names.find(" portable"), std::string::npos);
}

TEST(Sha256Kernel, CountsItsPaddingBlockAndItsBytes) {
    for (const std::uint64_t bytes : {1U, 55U, 56U, 64U, 16384U}) {
        Parameters parameters;
        parameters.size_bytes = bytes;
        auto kernel = (*find("sha256"))->make("portable", parameters);
        ASSERT_TRUE(kernel) << kernel.error().what;
        EXPECT_EQ((*kernel)->per_iteration().bytes, static_cast<double>(bytes));
        EXPECT_EQ((*kernel)->per_iteration().operations, static_cast<double>((bytes + 72) / 64));
        (*kernel)->run(3);
    }
}

}  // namespace tmaprobe::kernels::sha256
