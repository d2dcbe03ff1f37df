#include "symbols/function_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/file.h"

namespace tmaprobe::symbols {
namespace {

TEST(FunctionPlaces, OfThisVeryProgram) {
    const auto functions = functions_of("/proc/self/exe");
    ASSERT_TRUE(functions) << functions.error().what;
    const auto main = std::ranges::find(*functions, "main", &FunctionPlace::linker_name);
    ASSERT_NE(main, functions->end());
    EXPECT_GT(main->offset, 0u);
    EXPECT_GT(main->bytes, 0u);
    const bool demangled = std::ranges::any_of(*functions, [](const FunctionPlace& one) {
        return without_parameters(one.name) == "tmaprobe::symbols::functions_of";
    });
    EXPECT_TRUE(demangled);
}

TEST(FunctionPlaces, WhatIsNoProgramSaysSo) {
    EXPECT_FALSE(functions_of("/etc/passwd"));
    EXPECT_FALSE(functions_of("/nowhere"));
    EXPECT_FALSE(functions_of("/"));
}

TEST(FunctionPlaces, BrokenFilesEndInNothingWorse) {
    const std::string whole = *read_file("/proc/self/exe");
    const std::string path = ::testing::TempDir() + "function_places_test";
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{4}, std::size_t{63}, std::size_t{64}, whole.size() / 2}) {
        std::ofstream(path, std::ios::trunc) << whole.substr(0, bytes);
        static_cast<void>(functions_of(path));
    }
    // Section headers that point anywhere.
    std::string broken = whole;
    for (std::size_t i = 0; i < 8; ++i) broken[40 + i] = static_cast<char>(0xf0 + i);
    std::ofstream(path, std::ios::trunc) << broken;
    const auto functions = functions_of(path);
    EXPECT_TRUE(!functions || functions->empty());
    std::remove(path.c_str());
}

TEST(FunctionPlaces, NamesWithoutTheirParameters) {
    EXPECT_EQ(without_parameters("f"), "f");
    EXPECT_EQ(without_parameters("ns::f(int, char) const"), "ns::f");
    EXPECT_EQ(without_parameters("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
    EXPECT_EQ(without_parameters("a::b<void (int)>::c(d)"), "a::b<void (int)>::c");
    EXPECT_EQ(without_parameters("a::operator()(int) const"), "a::operator()");
}

}  // namespace
}  // namespace tmaprobe::symbols
