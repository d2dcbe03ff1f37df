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

/// What a machine answers: all that level 3 has, and further bits.
Registers answer_of(std::uint32_t leaf, std::uint32_t subleaf, std::uint32_t further, std::uint32_t state_bytes) {
    Registers registers;
    auto& native = registers.native;
    constexpr std::uint32_t level_3_7_ebx = 0x128, saves_when_changed = 1;
    native.rax = native.rbx = native.rcx = native.rdx = further;
    if (leaf == 1) native.rcx |= 0x3ed83203u | 1u << 26, native.rdx |= 0x07898931u | 1u << 26;
    if (leaf == 7) native.rbx |= level_3_7_ebx;
    if (leaf == 13 && subleaf == 0) native.rbx = native.rcx = state_bytes;
    if (leaf == 13 && subleaf == 1) native.rax |= saves_when_changed;
    if (leaf == 0x80000001) native.rcx |= 1u << 0 | 1u << 5 | 1u << 22, native.rdx |= 0x2c100800u;
    return registers;
}

TEST(ShownCpu, IsTheSameOnAllMachinesOfItsLevel) {
    for (const auto vendor : {ShownCpu::Vendor::intel, ShownCpu::Vendor::amd}) {
        ShownCpu cpu = cpu_with_caches();
        cpu.vendor = vendor;
        for (const std::uint32_t first : {0u, 0x80000000u, 0x40000000u})
            for (std::uint32_t leaf = first; leaf < first + 0x24; ++leaf)
                for (std::uint32_t subleaf = 0; subleaf < 2; ++subleaf) {
                    Registers before;
                    before.native.rax = leaf;
                    before.native.rcx = subleaf;
                    // One has no more than level 3, the other whatever there is, and room for AVX-512 and its keys.
                    auto plain = answer_of(leaf, subleaf, 0, 832), rich = answer_of(leaf, subleaf, ~0u, 2440);
                    cpu.answer(before, plain);
                    cpu.answer(before, rich);
                    EXPECT_EQ(plain.native.rax, rich.native.rax) << leaf << " " << subleaf;
                    EXPECT_EQ(plain.native.rbx, rich.native.rbx) << leaf << " " << subleaf;
                    EXPECT_EQ(plain.native.rcx, rich.native.rcx) << leaf << " " << subleaf;
                    EXPECT_EQ(plain.native.rdx, rich.native.rdx) << leaf << " " << subleaf;
                }
        Registers before, plain, rich;
        before.native.rcx = 0;
        plain.native.rax = 0x7;
        rich.native.rax = 0x602e7;  // with AVX-512, keys and AMX
        cpu.answer_state(before, plain);
        cpu.answer_state(before, rich);
        EXPECT_EQ(plain.native.rax, 0x7u);
        EXPECT_EQ(rich.native.rax, 0x7u);
    }
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
