#include "machine/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

using tmaprobe::machine::instruction_set_features;

namespace {

/// The words of the first flags line of /proc/cpuinfo; empty where there is none.
std::vector<std::string> cpuinfo_flags() {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);) {
        if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
        std::istringstream words(line.substr(line.find(':') + 1));
        return {std::istream_iterator<std::string>(words), {}};
    }
    return {};
}

}  // namespace

TEST(Features, AreAllKnownToTheKernelUnderTheSameName) {
    std::vector<std::string> flags = cpuinfo_flags();
    if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo has no line of flags here";
    // The kernel calls SSE3 by its code name.
    std::replace(flags.begin(), flags.end(), std::string("pni"), std::string("sse3"));
    // The kernel knows these for its guests alone, and shows them under no name (arch/x86/include/asm/cpufeatures.h).
    const std::set<std::string> not_shown{"amx_fp16", "avx_ifma", "avx_vnni_int8", "avx_vnni_int16", "sha512"};
    for (const std::string& feature : instruction_set_features())
        if (std::find(flags.begin(), flags.end(), feature) == flags.end())
            EXPECT_TRUE(not_shown.contains(feature)) << feature;
}

#if defined(__aarch64__)
TEST(Features, NameWhatEveryProcessorOfTheArchitectureHas) {
    const auto features = instruction_set_features();
    EXPECT_NE(std::find(features.begin(), features.end(), "asimd"), features.end());
}
#endif
