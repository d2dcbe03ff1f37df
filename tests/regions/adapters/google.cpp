#include <tmaprobe/benchmark.h>

static void add_up(benchmark::State& state) {
    for (auto _ : state) {
        int sum = 0;
        for (int i = 0; i < 100; ++i) benchmark::DoNotOptimize(sum += i);
    }
}
TMAPROBE_BENCHMARK(add_up);

BENCHMARK_MAIN();
