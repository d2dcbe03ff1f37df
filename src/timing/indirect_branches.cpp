#include "timing/indirect_branches.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

namespace tmaprobe::timing {
namespace {

using Function = long (*)(long);

[[gnu::noinline]] long add_one(long x) {
    asm volatile("");
    return x + 1;
}
[[gnu::noinline]] long add_two(long x) {
    asm volatile("");
    return x + 2;
}

double fastest_call_ns(Function first, Function second) {
    constexpr std::size_t calls = 256;
    constexpr int rounds = 64;
    std::array<Function, calls> functions{};
    for (std::size_t i = 0; i < calls; ++i) functions[i] = i % 2 == 0 ? first : second;
    asm volatile("" : : "r"(functions.data()) : "memory");  // they are read, and not known to the compiler
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        long sum = 0;
        for (const Function function : functions) sum = function(sum);
        asm volatile("" : : "r"(sum));
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count() / calls);
    }
    return best;
}

}  // namespace

IndirectCalls time_indirect_calls() { return {fastest_call_ns(add_one, add_one), fastest_call_ns(add_one, add_two)}; }

IndirectPrediction judge_indirect_calls(const IndirectCalls& calls) {
    if (!(calls.same_ns > 0) || !(calls.in_turn_ns > 0)) return IndirectPrediction::not_known;
    // A call takes two to six cycles, a misprediction ten to twenty.
    constexpr double alike = 2, mispredicted = 3;
    const double ratio = calls.in_turn_ns / calls.same_ns;
    if (ratio < alike) return IndirectPrediction::by_history;
    return ratio > mispredicted ? IndirectPrediction::by_last_target : IndirectPrediction::not_known;
}

IndirectPrediction indirect_prediction(const std::function<IndirectCalls()>& time) {
    constexpr int tries = 3;
    IndirectCalls best;
    for (int attempt = 0; attempt < tries; ++attempt) {
        const IndirectCalls calls = time();
        const auto less = [](double before, double now) { return before > 0 ? std::min(before, now) : now; };
        best = {less(best.same_ns, calls.same_ns), less(best.in_turn_ns, calls.in_turn_ns)};
    }
    return judge_indirect_calls(best);
}

}  // namespace tmaprobe::timing
