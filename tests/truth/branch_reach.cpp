// How far back a core looks to foretell a branch, by the clock: one of two functions is called by chance through a
// pointer, and so many jumps later a second branch goes by the same chance. Of the two functions the start, the return
// or a jump differs in one bit of its address, and else they only lie 8 KiB apart: as long as the second branch is
// predicted, that bit is looked back upon. The same of two jumps that it goes to by a jump through the pointer.
//   c++ -std=c++20 -O2 -o branch_reach branch_reach.cpp && ./branch_reach        x86-64; a quiet machine
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "by_clock.h"

namespace {

using Function = const unsigned char*;
using Loop = void (*)(const std::uint8_t* choices, std::uint64_t count, const Function* first, const Function* second);
enum class First { call, jump };
enum class Second { indirect_call, condition };

/// Of each turn: a call or jump by choice, so many jumps, each to the next start of 32 bytes, and a second branch by
/// that choice. Where it goes on behind the first.
unsigned char* write_loop(unsigned char* code, First first, int jumps, Second second) {
    unsigned char* at = code;
    const auto bytes = [&](std::initializer_list<int> values) {
        for (const int value : values) *at++ = static_cast<unsigned char>(value);
    };
    bytes({0x53});  // push %rbx
    Function turn = at;
    bytes({0x0f, 0xb6, 0x44, 0x37, 0xff});                    // movzbl -1(%rdi,%rsi), %eax
    bytes({0xff, first == First::call ? 0x14 : 0x24, 0xc2});  // call or jmp *(%rdx,%rax,8)
    unsigned char* const behind_first = at;
    for (int i = 0; i < jumps; ++i) {
        constexpr std::uintptr_t apart = 32;
        const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(at) + 2;
        const std::uintptr_t over = (apart - behind % apart) % apart;
        bytes({0xeb, static_cast<int>(over)});  // jmp
        at += over;
    }
    if (second == Second::indirect_call)
        bytes({0xff, 0x14, 0xc1});  // call *(%rcx,%rax,8)
    else
        bytes({0x85, 0xc0, 0x74, 3, 0x48, 0xff, 0xc3});  // test %eax, %eax; jz; inc %rbx
    bytes({0xff, 0xce, 0x0f, 0x85});                     // dec %esi; jnz
    const auto back = static_cast<std::int32_t>(turn - (at + sizeof(std::int32_t)));
    std::memcpy(at, &back, sizeof back);
    at += sizeof back;
    bytes({0x5b, 0xc3});  // pop %rbx; ret
    return behind_first;
}

double turn_ns(Function code, const std::vector<std::uint8_t>& choices, const Function* first, const Function* second) {
    constexpr int runs = 4;
    Loop loop = nullptr;
    std::memcpy(&loop, &code, sizeof loop);
    return least_ns(runs, [&] { loop(choices.data(), choices.size(), first, second); }) /
           static_cast<double>(choices.size());
}

enum class Differ { starts, jumps, returns };

/// Two functions of no-operations, of which the starts, or the returns, or a jump before these are one bit apart.
std::array<Function, 2> write_functions(unsigned char* code, Differ differ, int bit) {
    constexpr std::size_t between = 0x2000, long_no_operation = 8;
    constexpr const char* no_operation = "\x0f\x1f\x84\0\0\0\0\0";
    const std::size_t apart = std::size_t{1} << bit;
    // Behind both starts; a jump of five bytes begins four before.
    const std::size_t last = 2 * apart + (differ == Differ::jumps && apart < 64 ? 64 : 0);
    std::array<Function, 2> starts{};
    for (std::size_t which = 0; which < starts.size(); ++which) {
        unsigned char* const base = code + which * between;
        const std::size_t moved = which * apart;
        std::memset(base, 0x90, between);
        for (std::size_t at = 0; apart >= long_no_operation && at + long_no_operation < last; at += long_no_operation)
            std::memcpy(base + at, no_operation, long_no_operation);
        starts[which] = base + (differ == Differ::starts ? moved : 0);
        if (differ == Differ::jumps) {
            constexpr std::size_t jump_bytes = 5;
            unsigned char* const behind = base + last + moved + 1;
            const auto over = static_cast<std::int32_t>(base + between - 1 - behind);
            behind[-static_cast<std::ptrdiff_t>(jump_bytes)] = 0xe9;
            std::memcpy(behind - sizeof over, &over, sizeof over);
            base[between - 1] = 0xc3;
        } else {
            base[last + (differ == Differ::returns ? moved : 0)] = 0xc3;
        }
    }
    return starts;
}

/// Two jumps to an address, one bit apart.
std::array<Function, 2> write_jumps(unsigned char* code, const unsigned char* to, int bit) {
    constexpr std::size_t jump_bytes = 5;
    std::array<Function, 2> starts{};
    for (std::size_t which = 0; which < starts.size(); ++which) {
        unsigned char* const at = code + (which << bit);
        const auto over = static_cast<std::int32_t>(to - (at + jump_bytes));
        at[0] = 0xe9;
        std::memcpy(at + 1, &over, sizeof over);
        starts[which] = at;
    }
    return starts;
}

}  // namespace

int main() {
    constexpr std::size_t room = 1 << 20, turns = 1 << 17, functions_at = 1 << 19, others_at = functions_at + (1 << 16);
    constexpr int bits = 10;
    constexpr std::array<int, 12> jumps{0, 1, 2, 3, 8, 16, 17, 18, 46, 47, 48, 64};
    auto* memory = static_cast<unsigned char*>(
        mmap(nullptr, room, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) return 1;
    std::vector<std::uint8_t> by_chance(turns);
    const std::vector<std::uint8_t> always(turns, 0);
    std::uint64_t state = 88172645463325252;
    for (std::uint8_t& choice : by_chance) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        choice = state >> 40 & 1;
    }
    const double cycle = cycle_ns();
    const std::array<Function, 2> others = write_functions(memory + others_at, Differ::returns, 6);
    for (const Second second : {Second::indirect_call, Second::condition})
        for (const Differ differ : {Differ::starts, Differ::jumps, Differ::returns}) {
            constexpr std::array<const char*, 3> names{"starts", "jumps in them", "returns"};
            std::printf("%s, %s differ; cycles more than without chance, jumps between:\n         ",
                        second == Second::indirect_call ? "an indirect call" : "a condition",
                        names[static_cast<std::size_t>(differ)]);
            for (const int between : jumps) std::printf("%5d", between);
            for (int bit = 0; bit < bits; ++bit) {
                const std::array<Function, 2> functions = write_functions(memory + functions_at, differ, bit);
                std::printf("\n  bit %2d:", bit);
                for (const int between : jumps) {
                    write_loop(memory, First::call, between, second);
                    const double random = turn_ns(memory, by_chance, functions.data(), others.data());
                    const double steady = turn_ns(memory, always, functions.data(), others.data());
                    std::printf("%5.1f", (random - steady) / cycle);
                }
            }
            std::printf("\n");
        }
    constexpr int first_bit = 3;  // a jump has five bytes
    for (const Second second : {Second::indirect_call, Second::condition}) {
        std::printf(
            "%s, jumps in the place of functions differ; cycles more than without chance, jumps between:\n         ",
            second == Second::indirect_call ? "an indirect call" : "a condition");
        for (const int between : jumps) std::printf("%5d", between);
        for (int bit = first_bit; bit < bits; ++bit) {
            std::printf("\n  bit %2d:", bit);
            for (const int between : jumps) {
                const unsigned char* const behind = write_loop(memory, First::jump, between, second);
                const std::array<Function, 2> first = write_jumps(memory + functions_at, behind, bit);
                const double random = turn_ns(memory, by_chance, first.data(), others.data());
                const double steady = turn_ns(memory, always, first.data(), others.data());
                std::printf("%5.1f", (random - steady) / cycle);
            }
        }
        std::printf("\n");
    }
    return 0;
}
