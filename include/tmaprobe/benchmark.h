/*
 * Each benchmark of Google Benchmark as a region of tmaprobe: TMAPROBE_BENCHMARK(function) instead of
 * BENCHMARK(function), and what follows it stays. Licence: as tmaprobe/region.h.
 */
#ifndef TMAPROBE_BENCHMARK_H
#define TMAPROBE_BENCHMARK_H

#include <benchmark/benchmark.h>

#include "region.h"

namespace tmaprobe {

template <class Function>
void benchmark_as_region(const char* name, Function&& function, benchmark::State& state) {
    region whole(name);
    function(state);
    whole.count(static_cast<unsigned long long>(state.iterations()));
}

}  // namespace tmaprobe

#define TMAPROBE_BENCHMARK(function)                                             \
    static void tmaprobe_benchmark_##function(benchmark::State& state) {         \
        tmaprobe::benchmark_as_region(#function, function, state);               \
    }                                                                            \
    BENCHMARK(tmaprobe_benchmark_##function)->Name(#function)

#endif /* TMAPROBE_BENCHMARK_H */
