// What loads cost others that the first level has, when it has not their line or not their page, by the clock: lines in
// any order, so many KiB of them in so many pages of 4 KiB, each with so many loads beside it that never miss. Nothing
// waits for any of them. Then with operations that wait for each, and others that wait for nothing; and lines in order,
// so many loads of each.
//   c++ -std=c++20 -O2 -o missed_loads missed_loads.cpp
//   missed_loads                      three tables, cycles a line: x86-64; a quiet machine
//   missed_loads KIB PAGES OTHERS     one place of the first for a second, to ask tmaprobe about
//   missed_loads KIB PAGES WAITING CHAINED SUMS     one of the second
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "by_clock.h"

namespace {

constexpr std::size_t page = 4096, line = 64, most_pages = 4096;

/// `places` of the lines count from `memory`; `held` never misses, and no two loads of it are of the same bytes of a
/// line.
template <int others>
void round_of(const std::uint32_t* places, const std::uint32_t* end, const char* memory, const char* held) {
    asm volatile(
        "1:\nmov (%0), %%eax\nmov (%2,%%rax), %%ecx\n"
        ".set at, 0\n.rept %c4\nmov 4+68*at(%3), %%r8d\n.set at, at+1\n.endr\n"
        "add $4, %0\ncmp %1, %0\njne 1b"
        : "+r"(places)
        : "r"(end), "r"(memory), "r"(held), "i"(others)
        : "rax", "rcx", "r8", "memory", "cc");
}

using Round = void (*)(const std::uint32_t*, const std::uint32_t*, const char*, const char*);
constexpr std::array<std::pair<int, Round>, 7> rounds{{{0, round_of<0>},
                                                       {2, round_of<2>},
                                                       {3, round_of<3>},
                                                       {4, round_of<4>},
                                                       {5, round_of<5>},
                                                       {6, round_of<6>},
                                                       {8, round_of<8>}}};

/// So many operations wait for each line, so many more for the last of these, one for the other, and so many sums for
/// nothing.
template <int waiting, int chained, int sums>
void waited_for(const std::uint32_t* places, const std::uint32_t* end, const char* memory, const char*) {
    asm volatile(
        "1:\nmov (%0), %%eax\nmov (%2,%%rax), %%ecx\n"
        ".rept %c3\nlea 1(%%rcx), %%edx\n.endr\n"
        ".rept %c4\nadd $1, %%edx\n.endr\n"
        ".rept %c5\nlea 1(%%r8), %%r9d\n.endr\n"
        "add $4, %0\ncmp %1, %0\njne 1b"
        : "+r"(places)
        : "r"(end), "r"(memory), "i"(waiting), "i"(chained), "i"(sums)
        : "rax", "rcx", "rdx", "r9", "memory", "cc");
}

struct Waited {
    std::array<int, 3> operations;  ///< waiting, chained, sums
    Round round;
};
template <int waiting, int chained, int sums>
constexpr Waited waited{{waiting, chained, sums}, waited_for<waiting, chained, sums>};
constexpr std::array waits{waited<0, 0, 8>, waited<1, 0, 8>, waited<2, 0, 8>, waited<4, 0, 8>, waited<6, 0, 8>,
                           waited<8, 0, 0>, waited<4, 0, 0>, waited<1, 2, 8>, waited<1, 4, 4>, waited<1, 9, 0>};

/// So many loads of each line and so many no-operations beside them, one line after the other.
template <int loads, int no_operations>
void in_order(const char* memory, const char* end) {
    asm volatile(
        "1:\n.set at, 0\n.rept %c2\nmov 8*(at&7)(%0), %%rax\n.set at, at+1\n.endr\n"
        ".rept %c3\nnop\n.endr\nadd $64, %0\ncmp %1, %0\njne 1b"
        : "+r"(memory)
        : "r"(end), "i"(loads), "i"(no_operations)
        : "rax", "memory", "cc");
}

/// Each page has as many, at other places of it and of a line.
std::vector<std::uint32_t> places_of(std::size_t lines, std::size_t pages) {
    std::vector<std::uint32_t> places(lines);
    for (std::size_t i = 0; i < lines; ++i) {
        const std::size_t in = i % pages, at = (i / pages + in * 7) % (page / line);
        places[i] = static_cast<std::uint32_t>(in * page + at * line + (i * 5 + in) % 16 * 4);
    }
    std::shuffle(places.begin(), places.end(), std::mt19937(1));
    return places;
}

struct Memory {
    const char* lines = mapped(most_pages * page);
    const char* held = mapped(page);
};

double cycles_a_line(const Memory& memory, std::size_t kib, std::size_t pages, Round round, double cycle) {
    const auto places = places_of(kib * 1024 / line, pages);
    constexpr std::size_t wanted = 400'000;
    const std::size_t turns = wanted / places.size() + 1;
    const double ns = least_ns(15, [&] {
        for (std::size_t turn = 0; turn < turns; ++turn)
            round(places.data(), places.data() + places.size(), memory.lines, memory.held);
    });
    return ns / static_cast<double>(turns * places.size()) / cycle;
}

void print_in_order(const Memory& memory) {
    struct {
        const char* name;
        void (*run)(const char*, const char*);
    } const kinds[] = {{"2 loads of a line", in_order<2, 0>},
                       {"4", in_order<4, 0>},
                       {"6", in_order<6, 0>},
                       {"8", in_order<8, 0>},
                       {"12", in_order<12, 0>},
                       {"1, 16 no-operations", in_order<1, 16>}};
    for (const auto& kind : kinds) {
        std::printf("%-20s", kind.name);
        for (const std::size_t kib : {16, 128, 2048}) {
            const double cycle = cycle_ns();
            const std::size_t bytes = kib * 1024, turns = (1 << 20) / kib / 16 + 1;
            const double ns = least_ns(15, [&] {
                for (std::size_t turn = 0; turn < turns; ++turn) kind.run(memory.lines, memory.lines + bytes);
            });
            std::printf("  %5zu KiB %6.2f", kib, ns / static_cast<double>(turns * bytes / line) / cycle);
        }
        std::printf("\n");
    }
}

constexpr std::array<std::pair<std::size_t, std::size_t>, 7> places_to_print{
    {{4, 2}, {16, 256}, {32, 512}, {256, 64}, {512, 512}, {1024, 1024}, {256, 4096}}};

void print_rows(const Memory& memory, const std::vector<Round>& all) {
    for (const auto& [kib, pages] : places_to_print) {
        std::printf("%5zu KiB %5zu p.", kib, pages);
        const double cycle = cycle_ns();
        for (const Round one : all) std::printf("%9.2f", cycles_a_line(memory, kib, pages, one, cycle));
        std::printf("\n");
    }
}

/// One of the places, for a second.
int run_one(const Memory& memory, char** arguments, Round round) {
    const std::size_t pages = std::strtoul(arguments[2], nullptr, 10);
    if (pages == 0 || pages > most_pages) return 2;
    const auto places = places_of(std::strtoul(arguments[1], nullptr, 10) * 1024 / line, pages);
    if (places.empty()) return 2;
    for (const double end = now_ns() + 1e9; now_ns() < end;)
        for (int turn = 0; turn < 20; ++turn)
            round(places.data(), places.data() + places.size(), memory.lines, memory.held);
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const Memory memory;
    if (count == 4) {
        const auto* const found = std::ranges::find(rounds, std::atoi(arguments[3]), &std::pair<int, Round>::first);
        return found == rounds.end() ? 2 : run_one(memory, arguments, found->second);
    }
    if (count == 6) {
        const std::array wanted{std::atoi(arguments[3]), std::atoi(arguments[4]), std::atoi(arguments[5])};
        const auto* const found = std::ranges::find(waits, wanted, &Waited::operations);
        return found == waits.end() ? 2 : run_one(memory, arguments, found->round);
    }
    std::vector<Round> columns;
    std::printf("loads beside it  ");
    for (const auto& [others, round] : rounds) {
        std::printf("%9d", others);
        columns.push_back(round);
    }
    std::printf("\n");
    print_rows(memory, columns);
    columns.clear();
    std::printf("waiting, chained, sums");
    for (const auto& [operations, round] : waits) {
        std::printf("  %d, %d, %d", operations[0], operations[1], operations[2]);
        columns.push_back(round);
    }
    std::printf("\n");
    print_rows(memory, columns);
    print_in_order(memory);
    return 0;
}
