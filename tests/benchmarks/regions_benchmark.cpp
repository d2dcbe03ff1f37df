// What marks of tmaprobe/region.h cost while nobody listens: a load and a branch each.
#include <benchmark/benchmark.h>

#include <tmaprobe/region.h>
#include <cstdint>

namespace {

void a_loop(benchmark::State& state) {
    std::uint64_t x = 1;
    for (auto _ : state) {
        for (int i = 0; i < 1000; ++i) benchmark::DoNotOptimize(x += 3);
    }
    state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(a_loop)->Name("Regions/a loop");

void the_same_with_a_pair(benchmark::State& state) {
    std::uint64_t x = 1;
    for (auto _ : state) {
        for (int i = 0; i < 1000; ++i) {
            TMAPROBE_REGION_BEGIN("work");
            benchmark::DoNotOptimize(x += 3);
            TMAPROBE_REGION_END("work");
        }
    }
    state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(the_same_with_a_pair)->Name("Regions/the same with a pair of marks in each iteration");

}  // namespace
