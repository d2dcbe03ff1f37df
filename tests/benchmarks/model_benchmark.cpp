#include <benchmark/benchmark.h>

#include "counters/model/model.h"
#include "counters/workload.h"

namespace tmaprobe::counters::model {
namespace {

/// Integer work with a load, a store and a branch that is hard to foretell, so that nothing is free.
class Mixed final : public Workload {
  public:
    void run(std::uint64_t iterations) override {
        for (std::uint64_t i = 0; i < iterations; ++i) {
            state_ = state_ * 6364136223846793005u + 1442695040888963407u;
            std::uint64_t& word = words_[state_ >> 52];
            if (state_ & (std::uint64_t{1} << 40)) word += i;
        }
        benchmark::DoNotOptimize(words_);
    }

  private:
    std::uint64_t state_ = 1;
    std::uint64_t words_[4096] = {};
};

/// Traced and simulated instructions per second, variations included; at least 300 thousand are asked for.
void trace_and_simulate(benchmark::State& state, const char* target) {
    const auto table = events::load({}, target);
    machine::Host host;
    host.architecture = "x86_64";
    Mixed workload;
    std::int64_t instructions = 0;
    for (auto _ : state) {
        if (!table) return state.SkipWithError("no table");
        auto source = make_source({}, *table, host, {});
        if (!source) return state.SkipWithError(source.error().what.c_str());
        auto sample = (*source)->measure(workload, {0, 0, 1 << 20});
        if (!sample) return state.SkipWithError(sample.error().what.c_str());
        instructions += sample->detail["simulated_instructions"].get<std::int64_t>();
    }
    state.SetItemsProcessed(instructions);
}

BENCHMARK_CAPTURE(trace_and_simulate, zen4, "amdzen4")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(trace_and_simulate, cascade_lake, "cascadelakex")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tmaprobe::counters::model
