#include "trace/shown_cpu.h"

#include <gtest/gtest.h>

namespace tmaprobe::trace {
namespace {

#if defined(__x86_64__)

/// What a program sees that asks for a leaf of a machine whose processor answers with all bits.
Registers seen(const ShownCpu& cpu, std::uint32_t leaf, std::uint32_t subleaf = 0) {
    Registers before, after;
    before.native.rax = leaf;
    before.native.rcx = subleaf;
    after.native.rax = after.native.rbx = after.native.rcx = after.native.rdx = 0xffffffff;
    cpu.answer(before, after);
    return after;
}

ShownCpu cpu_with_caches() {
    ShownCpu cpu;
    cpu.caches = {{1, true, false, 48 << 10, 64, 12}, {2, true, true, 2 << 20, 64, 16}};
    return cpu;
}

TEST(ShownCpu, HasNoMoreThanItsLevel) {
    ShownCpu cpu;
    constexpr std::uint64_t avx2 = 1 << 5, erms = 1 << 9, avx512f = 1 << 16, sha = 1 << 29, hypervisor = 1u << 31;
    EXPECT_EQ(seen(cpu, 7).native.rbx & (avx2 | erms | avx512f | sha), avx2);
    EXPECT_EQ(seen(cpu, 7, 1).native.rax, 0u);
    EXPECT_EQ(seen(cpu, 1).native.rcx & hypervisor, 0u);
    cpu.avx512 = true;
    EXPECT_EQ(seen(cpu, 7).native.rbx & (avx2 | erms | avx512f | sha), avx2 | avx512f);
}

TEST(ShownCpu, HasNothingThatTheMachineLacks) {
    ShownCpu cpu;
    cpu.avx512 = true;
    Registers before, after;
    before.native.rax = 7;
    cpu.answer(before, after);
    EXPECT_EQ(after.native.rbx, 0u);
}

TEST(ShownCpu, HasTheCachesOfTheTarget) {
    const auto first = seen(cpu_with_caches(), 4, 0).native;
    EXPECT_EQ(first.rax & 31, 1u);
    EXPECT_EQ(((first.rbx >> 22) + 1) * ((first.rbx & 0xfff) + 1) * (first.rcx + 1), 48u << 10);
    EXPECT_EQ(seen(cpu_with_caches(), 4, 1).native.rax >> 5 & 7, 2u);
    EXPECT_EQ(seen(cpu_with_caches(), 4, 2).native.rax & 31, 0u);
    auto amd = cpu_with_caches();
    amd.vendor = ShownCpu::Vendor::amd;
    EXPECT_EQ(seen(amd, 0x8000001d, 1).native.rax >> 5 & 7, 2u);
    EXPECT_EQ(seen(amd, 0x80000006).native.rcx >> 16, 2048u);
}

TEST(ShownCpu, KeepsTheStateThatXsaveNeedsRoomFor) {
    EXPECT_EQ(seen(ShownCpu(), 13).native.rbx, 0xffffffffu);
    EXPECT_EQ(seen(ShownCpu(), 0x15).native.rax, 0u);
}

TEST(ShownCpu, IsOfTheVendorOfTheTarget) {
    ShownCpu cpu;
    EXPECT_EQ(seen(cpu, 0).native.rbx, 0x756e6547u);  // "Genu"
    cpu.vendor = ShownCpu::Vendor::amd;
    EXPECT_EQ(seen(cpu, 0).native.rbx, 0x68747541u);  // "Auth"
}

#endif

}  // namespace
}  // namespace tmaprobe::trace
