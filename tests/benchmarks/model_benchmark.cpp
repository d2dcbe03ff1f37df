#include <benchmark/benchmark.h>

#include "counters/workload.h"
#include "model/llvm/decoder.h"
#include "model/model.h"
#include "trace/translator.h"

namespace tmaprobe::model {
namespace {

/// Integer work with a load, a store and a branch that is hard to foretell, so that nothing is free.
class Mixed final : public counters::Workload {
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
        auto source = model::make_source({}, *table, host, {});
        if (!source) return state.SkipWithError(source.error().what.c_str());
        auto sample = (*source)->measure(workload, {0, 0, 1 << 20});
        if (!sample) return state.SkipWithError(sample.error().what.c_str());
        instructions += static_cast<std::int64_t>(sample->model->simulated_instructions);
    }
    state.SetItemsProcessed(instructions);
}

/// Calls through pointers, branches that are hard to foretell, a stack and a table: what an interpreter is like.
class Calls final : public counters::Workload {
  public:
    void run(std::uint64_t iterations) override {
        std::uint64_t (Calls::* const functions[])(std::uint64_t) = {&Calls::add, &Calls::turn, &Calls::look,
                                                                     &Calls::store};
        for (std::uint64_t i = 0; i < iterations; ++i) state_ = (this->*functions[state_ >> 62])(state_ + i);
        benchmark::DoNotOptimize(state_);
    }

  private:
    __attribute__((noinline)) std::uint64_t add(std::uint64_t value) { return value * 6364136223846793005u + 1; }
    __attribute__((noinline)) std::uint64_t turn(std::uint64_t value) { return (value << 13 | value >> 51) * 3; }
    __attribute__((noinline)) std::uint64_t look(std::uint64_t value) { return table_[value & 1023] ^ value * 5; }
    __attribute__((noinline)) std::uint64_t store(std::uint64_t value) { return table_[value & 1023] += value | 1; }
    std::uint64_t state_ = 1, table_[1024] = {};
};

/// Traced instructions per second, with nobody who looks at them; at least 30 million are asked for.
template <class Work>
void trace_only(benchmark::State& state) {
    Work workload;
    auto process = trace::TracedProcess::fork_function([&] { workload.run(~std::uint64_t{0}); });
    auto decoder = core::make_decoder("x86_64");
    if (!process || !decoder) return state.SkipWithError("no process to trace");
    trace::Tracer tracer(*process, **decoder, false);
    trace::Translator translator(*process, tracer);
    std::uint64_t sum = 0;
    const auto see = [&](const trace::StaticInstruction&, const trace::Step& step) { sum += step.load + step.store; };
    constexpr std::size_t at_once = 1'000'000;
    std::int64_t instructions = 0;
    for (auto _ : state) {
        auto traced = translator.steps(at_once, see);
        if (!traced || traced->ended) return state.SkipWithError("tracing failed");
        instructions += static_cast<std::int64_t>(traced->steps);
    }
    benchmark::DoNotOptimize(sum);
    state.SetItemsProcessed(instructions);
}

BENCHMARK(trace_only<Mixed>)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(trace_only<Calls>)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(trace_and_simulate, zen4, "amdzen4")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(trace_and_simulate, cascade_lake, "cascadelakex")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tmaprobe::model
