// A machine of eight instructions, decoded by a switch: it counts primes.
#include <vector>

#include "common.h"

enum Code : std::uint8_t { load, add, sub, less, jump_if, jump, mod, halt };
struct Instruction {
    Code code;
    int to, first, second;
};

int main() {
    // r0 candidate, r1 divisor, r2 scratch, r3 primes, r4 limit, r5 one, r6 zero, r7 flag
    const std::vector<Instruction> program = {
        {load, 0, 2, 0},    {load, 4, 20000, 0}, {load, 5, 1, 0},    {load, 6, 0, 0},  {load, 3, 0, 0},
        {load, 1, 2, 0},    {less, 7, 1, 0},     {jump_if, 9, 7, 0}, {jump, 16, 0, 0}, {mod, 2, 0, 1},
        {less, 7, 6, 2},    {jump_if, 13, 7, 0}, {jump, 17, 0, 0},   {add, 1, 1, 5},   {less, 7, 1, 0},
        {jump_if, 9, 7, 0}, {add, 3, 3, 5},      {add, 0, 0, 5},     {less, 7, 0, 4},  {jump_if, 5, 7, 0},
        {halt, 0, 0, 0}};
    std::int64_t r[8] = {};
    for (std::size_t at = 0;;) {
        const Instruction& i = program[at++];
        switch (i.code) {
            case load:
                r[i.to] = i.first;
                break;
            case add:
                r[i.to] = r[i.first] + r[i.second];
                break;
            case sub:
                r[i.to] = r[i.first] - r[i.second];
                break;
            case less:
                r[i.to] = r[i.first] < r[i.second];
                break;
            case mod:
                r[i.to] = static_cast<std::int32_t>(r[i.first]) % static_cast<std::int32_t>(r[i.second]);
                break;
            case jump_if:
                if (r[i.first]) at = static_cast<std::size_t>(i.to);
                break;
            case jump:
                at = static_cast<std::size_t>(i.to);
                break;
            case halt:
                return answer(static_cast<std::uint64_t>(r[3]));
        }
    }
}
