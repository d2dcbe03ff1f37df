// Loading one CPU's table and evaluating all its metrics; compare with perf's own start-up by
// perf_startup.sh beside this file.
#include <benchmark/benchmark.h>

#include <string>

#include "events/table.h"
#include "metrics/formulas.h"

namespace {

using namespace tmaprobe;

metrics::Constants constants() {
    metrics::Constants constants;
    constants.values = {{"#smt_on", 1}, {"#core_wide", 0}, {"#has_pmem", 0}, {"#slots", 8}};
    return constants;
}

metrics::Counts invented_counts(const metrics::Formulas& formulas, double relative_error) {
    metrics::Counts counts;
    double value = 1e6;
    for (const std::string& event : formulas.events_needed(constants())) {
        counts[event] = {value, value * (1 - relative_error), value * (1 + relative_error)};
        value = value * 1.1 > 1e9 ? 1e6 : value * 1.1;
    }
    return counts;
}

/// What a process pays once: table, formulas of every metric, one evaluation.
void load_and_evaluate_all(benchmark::State& state, const std::string& target) {
    for (auto _ : state) {
        const auto table = events::load({}, target);
        const auto formulas = metrics::Formulas::compile(table->metrics, {});
        benchmark::DoNotOptimize(formulas->evaluate(invented_counts(*formulas, 0), constants()));
    }
}

void load(benchmark::State& state, const std::string& target) {
    for (auto _ : state) benchmark::DoNotOptimize(events::load({}, target));
}

void evaluate_all(benchmark::State& state, const std::string& target, double relative_error) {
    const auto table = events::load({}, target);
    const auto formulas = metrics::Formulas::compile(table->metrics, {});
    const auto counts = invented_counts(*formulas, relative_error);
    for (auto _ : state) benchmark::DoNotOptimize(formulas->evaluate(counts, constants()));
    state.counters["metrics"] = static_cast<double>(table->metrics.size());
}

BENCHMARK_CAPTURE(load, sapphirerapids, "sapphirerapids")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_and_evaluate_all, skylakex, "skylakex")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_and_evaluate_all, sapphirerapids, "sapphirerapids")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_and_evaluate_all, amdzen4, "amdzen4")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_and_evaluate_all, hip08, "hip08")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(evaluate_all, skylakex, "skylakex", 0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_all, sapphirerapids, "sapphirerapids", 0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_all, graniterapids, "graniterapids", 0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_all, amdzen4, "amdzen4", 0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_all, sapphirerapids_with_bounds, "sapphirerapids", 0.05)->Unit(benchmark::kMillisecond);

}  // namespace
