// Times basic blocks on this machine by the clock.
//   time_blocks [--seconds N] < blocks > cycles
// Reads "hexadecimal instructions" lines; prints each with its core cycles, or a negative reason (block_run.h).

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <string>

#include "tests/truth/blocks/block_run.h"

int main(int count, char** arguments) {
    using Clock = std::chrono::steady_clock;
    double seconds = 50;
    std::string known;  // results of an earlier call, whose good lines are not timed again
    for (int i = 1; i + 1 < count; i += 2) {
        if (!std::strcmp(arguments[i], "--seconds")) seconds = std::atof(arguments[i + 1]);
        if (!std::strcmp(arguments[i], "--known")) known = arguments[i + 1];
    }
    std::set<std::string> done;
    if (!known.empty()) {
        std::ifstream file(known);
        std::string code;
        std::size_t instructions;
        double cycles;
        while (file >> code >> instructions >> cycles)
            if (cycles > 0 || cycles == double{tmaprobe::truth::dropped_fault}) done.insert(code);
    }
    const auto start = Clock::now();
    std::string code;
    std::size_t instructions = 0;
    while (std::cin >> code >> instructions) {
        if (done.count(code)) continue;
        if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
        tmaprobe::truth::Bytes block;
        for (std::size_t i = 0; i + 1 < code.size(); i += 2)
            block.push_back(static_cast<std::uint8_t>(std::stoul(code.substr(i, 2), nullptr, 16)));
        const double cycles = tmaprobe::truth::measure_block(block, tmaprobe::truth::copies_for(instructions, 600));
        std::printf("%s %zu %.3f\n", code.c_str(), instructions, cycles);
        std::fflush(stdout);
    }
}
