// What a core remembers of the branches before an indirect one, by the clock: two pieces of code that differ in one bit
// of one branch are called in turn through a pointer. Where that bit is remembered the call is predicted.
//   c++ -O2 -o branch_history branch_history.cpp && ./branch_history        x86-64; a quiet machine
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "by_clock.h"

namespace {

using Function = long (*)(long);

double call_ns(const unsigned char* first, const unsigned char* second) {
    constexpr int calls = 4096, rounds = 120;
    static std::array<Function, calls> functions;
    for (int i = 0; i < calls; ++i) std::memcpy(&functions[i], i % 2 ? &first : &second, sizeof(Function));
    const auto call_all = [] {
        long sum = 0;
        for (const Function function : functions) sum = function(sum);
        asm volatile("" : : "r"(sum));
    };
    return least_ns(rounds, call_all) / calls;
}

enum class Branch { jump, taken, not_taken, indirect, call, short_jump };

/// A function with one branch at `from` to `to`; all else is the same in each.
void write(unsigned char* code, Branch kind, int from, int to) {
    constexpr int returns_at = 0x3f0, called = 0x800;
    std::memset(code, 0x90, 0x1000);
    std::memcpy(code, "\x39\xc0", 2);  // cmp eax, eax
    const auto put = [&](int at, const char* opcode, std::size_t bytes, int target) {
        const std::int32_t distance = target - (at + static_cast<int>(bytes) + 4);
        std::memcpy(code + at, opcode, bytes);
        std::memcpy(code + at + bytes, &distance, sizeof distance);
    };
    switch (kind) {
        case Branch::jump:
            put(from, "\xe9", 1, to);
            break;
        case Branch::taken:
            put(from, "\x0f\x84", 2, to);
            break;
        case Branch::not_taken:
            put(from, "\x0f\x85", 2, to);
            break;
        case Branch::indirect:
            put(2, "\x48\x8d\x15", 3, to);  // lea rdx, [to]
            std::memcpy(code + from, "\xff\xe2", 2);
            break;
        case Branch::call:
            put(from, "\xe8", 1, called);
            code[called] = 0xc3;
            break;
        case Branch::short_jump:
            code[from] = 0xeb;
            code[from + 1] = static_cast<unsigned char>(to - from - 2);
            break;
    }
    code[returns_at] = 0xc3;
}

}  // namespace

int main() {
    constexpr std::size_t bytes = 8 << 20;
    auto* memory = static_cast<unsigned char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) return 1;
    unsigned char *const one = memory + 0x100000, *const other = memory + 0x300000;
    constexpr int from = 0x100, to = 0x380;
    constexpr std::array<const char*, 5> names{"jump", "taken", "not taken", "indirect jump", "call"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto kind = static_cast<Branch>(i);
        write(one, kind, from, to);
        write(other, kind, from, to);
        std::printf("%-14s alike %5.1f ns; own address, bit", names[i], call_ns(one, other));
        for (int bit = 0; bit < 8; ++bit) {
            write(other, kind, from + (1 << bit), to);
            std::printf(" %d: %.1f", bit, call_ns(one, other));
        }
        std::printf("\n");
        if (kind == Branch::not_taken || kind == Branch::call) continue;
        std::printf("%-14s target, bit", "");
        for (int bit = 0; bit < 6; ++bit) {
            write(other, kind, from, to + (1 << bit));
            std::printf(" %d: %.1f", bit, call_ns(one, other));
        }
        std::printf("\n");
    }
    // A branch of two bytes: which of them the address is that of.
    struct Pair {
        const char* what;
        int one, other;
    };
    constexpr std::array<Pair, 6> pairs{{{"same first byte's bits 2-7, last byte's bit 2 differs", 0x132, 0x133},
                                         {"same last byte's bits 2-7, first byte's bit 2 differs", 0x133, 0x134},
                                         {"same first byte's, last byte's bits 2 and 3 differ", 0x136, 0x137},
                                         {"same last byte's, first byte's bits 2 and 3 differ", 0x137, 0x138},
                                         {"both alike", 0x131, 0x132},
                                         {"both differ", 0x132, 0x136}}};
    for (const Pair& pair : pairs) {
        write(one, Branch::short_jump, pair.one, 0x160);
        write(other, Branch::short_jump, pair.other, 0x160);
        std::printf("short jump: %-55s %5.1f ns\n", pair.what, call_ns(one, other));
    }
    return 0;
}
