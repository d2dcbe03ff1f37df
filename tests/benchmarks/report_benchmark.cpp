// A report of 200 hosts' sweeps, 30 points each in one page mode, with the metrics and events that a modelled
// or counted point has: reading the files' text, and writing it in each format.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>

#include "record/json/file.h"
#include "report/writers.h"

namespace {

using namespace tmaprobe;

constexpr int hosts = 200, points = 30, metrics = 24, events = 48;

record::Run point_of(int index, int host) {
    record::Run run;
    run.kernel = "chase";
    run.variant = "scalar";
    const auto size = static_cast<std::uint64_t>(16384 * std::pow(2.0, index / 2.0));
    run.parameters.size_bytes = size;
    run.parameters.threads = 1;
    run.parameters.cpus = {1};
    run.pages = record::Pages{record::PageKind::size_4k, {{"4k", size}}, record::PageKind::size_4k};
    const double ns = 1.2 + index * index * 0.1 + host * 0.001;
    run.time.known = true;
    run.time.operation = "load";
    run.time.ns_per_op = {31, ns, ns * 0.98, ns * 1.1, ns * 0.01, ns * 0.99, ns * 1.01};
    run.time.bytes_per_second = {31, 8e9 / ns, 7e9 / ns, 9e9 / ns, 1e7, 7.9e9 / ns, 8.1e9 / ns};
    run.time.clean = 31;
    for (int i = 0; i < events; ++i)
        run.events.push_back({fmt::format("ls_l1_d_tlb_miss.kind_{}", i),
                              "cpu",
                              fmt::format("0x{:x}", 0xff00 + i),
                              {1e6 * ns, 1000000, 50000000, 50000000},
                              i / 6,
                              0,
                              0.9e6 * ns,
                              1.1e6 * ns,
                              record::Note::none});
    for (int i = 0; i < metrics; ++i) {
        record::Metric metric;
        metric.name = fmt::format("l2_dtlb_misses_of_kind_{}", i);
        metric.category = i < 10 ? record::Category::tlb : record::Category::backend;
        metric.level = i < 10 ? 0 : 1;
        metric.value = ns * 0.01 * i;
        metric.unit = record::MetricUnit::per_kilo_instructions;
        metric.low = metric.value * 0.99;
        metric.high = metric.value * 1.01;
        metric.status = record::Status::modelled;
        metric.description = "What the metric says, in a sentence as long as the vendors write them in their tables";
        metric.formula = "ls_l1_d_tlb_miss.kind_1 / instructions * 1000";
        run.metrics.push_back(std::move(metric));
    }
    return run;
}

record::Record sweep_of(int host) {
    record::Record record;
    record.experiment = record::Experiment::sweep;
    record.host.name = fmt::format("node{:03}", host);
    record.host.cpu_model = "AMD EPYC";
    record.started = fmt::format("2026-01-{:02}T00:00:00Z", host % 28 + 1);
    for (int index = 0; index < points; ++index) record.runs.push_back(point_of(index, host));
    return record;
}

const std::vector<record::Record>& sweeps() {
    static const auto made = [] {
        std::vector<record::Record> all;
        for (int host = 0; host < hosts; ++host) all.push_back(sweep_of(host));
        return all;
    }();
    return made;
}

void read_records(benchmark::State& state) {
    std::vector<std::string> texts;
    std::int64_t bytes = 0;
    for (const auto& record : sweeps()) {
        texts.push_back(record::serialize(record));
        bytes += static_cast<std::int64_t>(texts.back().size());
    }
    for (auto _ : state)
        for (const auto& text : texts) benchmark::DoNotOptimize(record::parse_records(text, "sweep.json"));
    state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK(read_records)->Unit(benchmark::kMillisecond);

void write_records(benchmark::State& state, const char* format) {
    std::size_t bytes = 0;
    for (auto _ : state) {
        const auto text = report::render(sweeps(), format);
        if (!text) return state.SkipWithError(text.error().what.c_str());
        bytes = text->size();
    }
    state.counters["MB"] = static_cast<double>(bytes) / 1e6;
}
BENCHMARK_CAPTURE(write_records, html, "html")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_records, csv, "csv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_records, markdown, "markdown")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_records, openmetrics, "openmetrics")->Unit(benchmark::kMillisecond);

}  // namespace
