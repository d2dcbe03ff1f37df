// What indirect branches cost a core that foretells them, by the clock: how late it knows where they go, by what was
// taken before, and how many orders of targets it knows.
//   c++ -std=c++20 -O2 -o indirect_branches indirect_branches.cpp && ./indirect_branches      x86-64; a quiet machine
//
// Pieces of code go on to each other, in an order of their addresses that comes again and again: each by an indirect
// jump of its own, or all by a shared one to which they jump.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "by_clock.h"
#include "written_code.h"

namespace {

using Order = std::vector<std::size_t>;  ///< of pieces; as many as a power of 2
using Run = void (*)(void* const* order, long count);
constexpr std::size_t word = sizeof(void*);

/// By what a piece goes on to the shared jump.
enum class Way { own_jump, jump, condition, call, indirect_jump };

struct Layout {
    Way way = Way::own_jump;
    std::size_t apart = 84;          ///< bytes from one piece to the next, at least
    std::size_t jumps_in_piece = 0;  ///< each to another line, before a piece goes on
    std::size_t jumps_shared = 0;    ///< and before the shared jump
};

void jumps(Code& code, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t target = code.size() + line_bytes;
        code.branch({0xe9}, target);
        code.fill_to(target);
    }
}

/// The end, if ecx is 1; else on to the next of the order: rdi begins it, edx is how far it is.
void go_on(Code& code, std::size_t end, std::size_t order) {
    code.put({0xff, 0xc9});          // dec ecx
    code.branch({0x0f, 0x84}, end);  // jz
    code.put({0x83, 0xc2, word, 0x81, 0xe2});
    code.number(static_cast<std::uint32_t>(order * word - 1));  // add edx, 8; and edx, all - 1
    code.put({0xff, 0x24, 0x17});                               // jmp *(rdi, rdx)
}

/// Core cycles from a piece to the next.
double cycles(const CodeMemory& memory, const Order& order, const Layout& layout) {
    constexpr std::size_t end = 64, shared = 192, pieces = 2048;
    constexpr long count = 60'000;
    Code code;
    code.put({0x89, 0xf1, 0x31, 0xd2, 0xff, 0x27});  // mov ecx, esi; xor edx, edx; jmp *(rdi)
    code.fill_to(end);
    code.put({0xc3});
    code.fill_to(shared);
    if (layout.way == Way::call) code.put({0x48, 0x83, 0xc4, word});  // add rsp, 8
    jumps(code, layout.jumps_shared);
    go_on(code, end, order.size());
    const std::size_t last = *std::max_element(order.begin(), order.end());
    std::vector<void*> places;
    for (std::size_t piece = 0; piece <= last; ++piece) {
        code.fill_to(pieces + piece * (layout.apart + layout.jumps_in_piece * line_bytes));
        places.push_back(memory.begin() + code.size());
        code.no_operations(1);
        jumps(code, layout.jumps_in_piece);
        switch (layout.way) {
            case Way::own_jump:
                go_on(code, end, order.size());
                break;
            case Way::jump:
                code.branch({0xe9}, shared);
                break;
            case Way::condition:
                code.put({0x39, 0xc0});  // cmp eax, eax; jz
                code.branch({0x0f, 0x84}, shared);
                break;
            case Way::call:
                code.branch({0xe8}, shared);
                break;
            case Way::indirect_jump:
                code.put({0x4c, 0x8d, 0x05});  // lea shared, r8; jmp *r8
                code.number(static_cast<std::uint32_t>(shared - (code.size() + 4)));
                code.put({0x41, 0xff, 0xe0});
                break;
        }
    }
    const Run run = memory.hold<Run>(code);
    std::vector<void*> addresses;
    for (const std::size_t piece : order) addresses.push_back(places[piece]);
    const double cycle = cycle_ns();
    return least_ns(60, [&] { run(addresses.data(), count); }) / count / cycle;
}

/// Of this order, over and over.
Order repeated(const std::string& digits, std::size_t size = 64) {
    Order order;
    while (order.size() < size) order.push_back(static_cast<std::size_t>(digits[order.size() % digits.size()] - '0'));
    return order;
}

Order by_chance(std::size_t pieces, std::size_t size) {
    std::mt19937 random(static_cast<std::uint32_t>(pieces + size));
    Order order;
    while (order.size() < size) order.push_back(random() % pieces);
    return order;
}

Order in_turn(std::size_t pieces) {
    Order order;
    while (order.size() < std::max<std::size_t>(64, pieces)) order.push_back(order.size() % pieces);
    return order;
}

void print_late(const CodeMemory& memory) {
    const struct {
        const char* name;
        Way way;
    } ways[] = {
        {"jump", Way::jump}, {"condition", Way::condition}, {"indirect jump", Way::indirect_jump}, {"call", Way::call}};
    std::printf("cycles of an order that comes again, more than of as many jumps, by jumps that all have in common\n");
    for (const auto& [name, way] : ways)
        for (const std::string order : {"0", "01", "0123", "0011", "0012", "0001"}) {
            std::printf("  pieces %-4s by a shared jump, behind: %-13s", order.c_str(), name);
            for (const std::size_t shared : {0, 1, 2}) {
                const double each = cycles(memory, repeated(order), {way, 84, 1, shared});
                std::printf("  %zu: %5.2f", shared, (each - 3 - static_cast<double>(shared)) * double(order.size()));
            }
            std::printf("\n");
        }
    for (const std::string order : {"0", "01", "0123", "0011", "0012", "0001"}) {
        std::printf("  pieces %-4s each by a jump of its own, by jumps in each", order.c_str());
        for (const std::size_t in_piece : {0, 1, 2}) {
            const double each = cycles(memory, repeated(order), {Way::own_jump, 84, in_piece, 0});
            std::printf("  %zu: %5.2f", in_piece, (each - 1 - double(in_piece)) * double(order.size()));
        }
        std::printf("\n");
    }
}

void print_kinds(const CodeMemory& memory) {
    std::printf("cycles from one of so many pieces to the next, in turn, by a shared jump\n");
    for (const std::size_t apart : {48, 64, 272, 1024}) {
        std::printf("  %4zu bytes apart", apart);
        for (const std::size_t pieces : {2, 4, 8, 16, 32, 64, 128})
            std::printf("  %zu: %.2f", pieces, cycles(memory, in_turn(pieces), {Way::jump, apart}));
        std::printf("\n");
    }
}

void print_orders(const CodeMemory& memory) {
    std::printf("cycles from one piece to the next, by how many, by chance, come again\n");
    for (const Way way : {Way::own_jump, Way::jump})
        for (const std::size_t pieces : {4, 16, 64}) {
            std::printf("  %2zu pieces, %s", pieces, way == Way::jump ? "a shared jump" : "each its jump");
            for (const std::size_t size : {64, 128, 256, 512, 1024, 2048})
                std::printf("  %zu: %.2f", size, cycles(memory, by_chance(pieces, size), {way}));
            std::printf("\n");
        }
}

/// Core cycles of a round: `calls`, one straight behind the other's return, through a pointer that is one of two in
/// turn, so far apart, and what they take where it is always one of them.
void print_calls(const CodeMemory& memory, std::size_t calls, std::size_t apart) {
    constexpr std::size_t start = 64, functions = 8192;
    constexpr long count = 20'000;
    Code code;
    code.put({0x89, 0xf1, 0x31, 0xd2});  // mov ecx, esi; xor edx, edx
    while (code.size() < start) code.put({0x90});
    for (std::size_t call = 0; call < calls; ++call) code.put({0xff, 0x14, 0x17});  // call *(rdi, rdx)
    code.put({0x83, 0xf2, word, 0xff, 0xc9});                                       // xor edx, 8; dec ecx
    code.branch({0x0f, 0x85}, start);                                               // jnz
    code.put({0xc3});
    void* places[2];
    for (std::size_t i = 0; i < 2; ++i) {
        code.fill_to(functions + i * apart);
        places[i] = memory.begin() + code.size();
        code.no_operations(1);
        code.put({0xc3});
    }
    const Run run = memory.hold<Run>(code);
    void* const one[] = {places[0], places[0]};
    const double cycle = cycle_ns();
    const double same = least_ns(60, [&] { run(one, count); }), other = least_ns(60, [&] { run(places, count); });
    std::printf("  %4zu bytes apart, calls in a round %zu  in turn: %.2f  always one: %.2f\n", apart, calls,
                other / count / cycle, same / count / cycle);
}

}  // namespace

int main() {
    const CodeMemory memory(1 << 20);
    if (!memory.is_there()) return 1;
    print_late(memory);
    std::printf("two functions called through a pointer, cycles of a round\n");
    for (const std::size_t calls : {1, 2})
        for (const std::size_t apart : {64, 128, 135, 256, 512, 4096}) print_calls(memory, calls, apart);
    print_kinds(memory);
    print_orders(memory);
    return 0;
}
