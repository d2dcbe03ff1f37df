// What branches cost a core that foretells all of them, by the clock: calls and returns with jumps beside them, and
// more jumps than the first and second level of branch targets, or the instruction cache, hold.
//   c++ -std=c++20 -O2 -o branch_costs branch_costs.cpp && ./branch_costs        x86-64; a quiet machine
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "by_clock.h"

namespace {

using Code = std::vector<unsigned char>;

void put(Code& code, std::initializer_list<int> bytes) {
    for (const int byte : bytes) code.push_back(static_cast<unsigned char>(byte));
}
void put_number(Code& code, std::int64_t number) {
    const auto distance = static_cast<std::int32_t>(number);
    unsigned char bytes[sizeof distance];
    std::memcpy(bytes, &distance, sizeof distance);
    code.insert(code.end(), bytes, bytes + sizeof distance);
}
/// A jump from the end of the code, over so many bytes.
void jump_over(Code& code, int bytes) {
    put(code, {0xe9});
    put_number(code, bytes);
    code.insert(code.end(), static_cast<std::size_t>(bytes), 0xcc);
}

constexpr std::size_t loop_at = 64, function_at = 4096;

/// Core cycles of the code, by `per`: it runs in a loop of its own.
double cycles(unsigned char* memory, const Code& body, double per) {
    const int times = std::max(3, static_cast<int>(40'000 / per));
    Code all;
    put(all, {0x41, 0xb8});  // mov r8d, times
    put_number(all, times);
    while (all.size() < loop_at) put(all, {0x90});
    const std::size_t start = all.size();
    all.insert(all.end(), body.begin(), body.end());
    put(all, {0x41, 0xff, 0xc8, 0x0f, 0x85});  // dec r8d; jnz
    put_number(all, static_cast<std::int64_t>(start) - static_cast<std::int64_t>(all.size() + 4));
    put(all, {0xc3});
    std::memcpy(memory, all.data(), all.size());
    void (*code)();
    std::memcpy(&code, &memory, sizeof code);
    code();
    double least = 1e18, clock = 1e18;
    for (int round = 0; round < 6; ++round) {
        least = std::min(least, least_ns(10, code));
        clock = std::min(clock, least_ns(10, chain));
    }
    return least / (clock / chain_cycles) / times / per;
}

/// 16 calls of a function; jumps in it, and copies of registers; jumps after each call.
Code calls(int jumps_inside, int copies_inside, int jumps_after) {
    Code function, code;
    for (int i = 0; i < copies_inside; ++i) put(function, {0x45, 0x89, 0xd1});  // mov r9d, r10d
    for (int i = 0; i < jumps_inside; ++i) jump_over(function, 8);
    put(function, {0xc3});
    put(code, {0xe9});
    put_number(code, static_cast<std::int64_t>(function.size()));
    const std::size_t at = code.size();
    code.insert(code.end(), function.begin(), function.end());
    for (int call = 0; call < 16; ++call) {
        put(code, {0xe8});
        put_number(code, static_cast<std::int64_t>(at) - static_cast<std::int64_t>(code.size() + 4));
        for (int i = 0; i < jumps_after; ++i) jump_over(code, 8);
    }
    return code;
}

/// Calls of a function that does nothing, which lies at `function_at`: the loop's own jump is the only other branch.
Code calls_alone(int count) {
    Code code;
    for (int call = 0; call < count; ++call) {
        put(code, {0xe8});
        put_number(code, static_cast<std::int64_t>(function_at) - static_cast<std::int64_t>(loop_at + code.size() + 4));
    }
    return code;
}

/// Jumps that lie so many bytes apart and follow one another in any order.
Code jumps(std::size_t count, std::size_t bytes_apart) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    constexpr std::size_t first = 5;
    Code code(first + bytes_apart * count, 0xcc);
    const auto jump = [&](std::size_t from, std::size_t to) {
        const auto distance =
            static_cast<std::int32_t>(static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from + 5));
        code[from] = 0xe9;
        std::memcpy(&code[from + 1], &distance, sizeof distance);
    };
    jump(0, first + bytes_apart * order[0]);
    for (std::size_t i = 0; i < count; ++i)
        jump(first + bytes_apart * order[i], i + 1 < count ? first + bytes_apart * order[i + 1] : code.size());
    return code;
}

/// Calls, each so many bytes after the one before, of functions that do nothing, so many bytes apart, in any order.
Code call_table(std::size_t count, std::size_t bytes_between, std::size_t bytes_apart) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    constexpr std::size_t first = 5, call_bytes = 5;
    Code code(first + bytes_apart * count, 0xcc);
    for (std::size_t i = 0; i < count; ++i) code[first + bytes_apart * i] = 0xc3;
    const auto over = static_cast<std::int32_t>(code.size() - first);
    code[0] = 0xe9;
    std::memcpy(&code[1], &over, sizeof over);
    for (const std::size_t function : order) {
        put(code, {0xe8});
        put_number(code, static_cast<std::int64_t>(first + bytes_apart * function) -
                             static_cast<std::int64_t>(code.size() + 4));
        for (std::size_t pad = bytes_between - call_bytes; pad > 0;) {
            const std::size_t now = pad >= 4 ? 4 : 1;
            if (now == 4)
                put(code, {0x0f, 0x1f, 0x40, 0x00});
            else
                put(code, {0x90});
            pad -= now;
        }
    }
    return code;
}

/// 16 jumps through memory to `there`, each with a jump back.
Code far_jumps(unsigned char* memory, unsigned char* there) {
    constexpr std::size_t count = 16, apart = 64, body_at = 64;
    Code code;
    put(code, {0xe9});
    put_number(code, 8 * count);
    const std::size_t table = code.size();
    code.resize(table + 8 * count);
    for (std::size_t i = 0; i < count; ++i) {
        put(code, {0xff, 0x25});
        put_number(code, static_cast<std::int64_t>(table + 8 * i) - static_cast<std::int64_t>(code.size() + 4));
        unsigned char *to = there + apart * i, *back = memory + body_at + code.size();
        std::memcpy(&code[table + 8 * i], &to, sizeof to);
        std::memcpy(to, "\xff\x25\x08\0\0\0", 6);
        std::memcpy(to + 14, &back, sizeof back);
    }
    return code;
}

/// Constants into registers, 6 bytes each, one after another.
Code straight(std::size_t bytes) {
    Code code;
    while (code.size() + 6 <= bytes) {
        put(code, {0x41, 0xb9 + static_cast<int>(code.size() / 6 % 3)});
        put_number(code, 1);
    }
    return code;
}

}  // namespace

int main() {
    constexpr std::size_t bytes = 64 << 20;
    auto* memory = static_cast<unsigned char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) return 1;
    std::printf("call and return, cycles of a pair, by jumps inside and after\n");
    for (int inside = 0; inside <= 4; ++inside) {
        for (int after = 0; after <= 4; after += 2)
            std::printf("  %d+%d %5.2f", inside, after, cycles(memory, calls(inside, 0, after), 16));
        std::printf("\n");
    }
    std::printf("and with instructions inside\n");
    for (int copies = 0; copies <= 24; copies += 4)
        std::printf("  %d %5.2f", copies, cycles(memory, calls(0, copies, 0), 16));
    std::printf("\nand a loop of so many calls alone, cycles of a turn\n");
    memory[function_at] = 0xc3;
    for (const int count : {1, 2, 4, 8}) std::printf("  %d %5.2f", count, cycles(memory, calls_alone(count), 1));
    std::printf("\njumps in any order, cycles of each, by how many there are\n");
    for (const std::size_t apart : {8, 16, 32, 64}) {
        std::printf("  %2zu bytes apart", apart);
        for (const std::size_t count : {256, 512, 1024, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192})
            std::printf("  %zu %5.2f", count, cycles(memory, jumps(count, apart), static_cast<double>(count)));
        std::printf("\n");
    }
    std::printf("calls and returns, cycles of a pair, by how many functions there are\n");
    for (const std::size_t between : {5, 8, 16})
        for (const std::size_t apart : {64, 256, 512, 576}) {
            std::printf("  calls %2zu bytes apart, functions %3zu", between, apart);
            for (const std::size_t count : {256, 512, 768, 1024, 1536, 2048, 3072})
                std::printf("  %zu %5.1f", count,
                            cycles(memory, call_table(count, between, apart), static_cast<double>(count)));
            std::printf("\n");
        }
    std::printf("straight code, cycles of a line, by KiB\n");
    for (const std::size_t kib : {16, 64, 256, 768, 1536, 6000, 12000})
        std::printf("  %zu %5.2f", kib, cycles(memory, straight(kib << 10), static_cast<double>(kib << 4)));
    std::printf("\njump through memory and back, cycles of both, by the bit that differs in their addresses\n");
    for (int bit = 33; bit <= 46; ++bit) {
        const auto at = (reinterpret_cast<std::uintptr_t>(memory) & ~std::uintptr_t{0xffff}) ^ std::uintptr_t{1} << bit;
        auto* there =
            static_cast<unsigned char*>(mmap(reinterpret_cast<void*>(at), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
        if (there == MAP_FAILED) continue;
        std::printf("  %d %5.2f", bit, cycles(memory, far_jumps(memory, there), 16));
    }
    std::printf("\n");
    return 0;
}
