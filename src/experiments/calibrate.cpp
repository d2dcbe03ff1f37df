#include "experiments/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "base/statistics.h"
#include "counters/source.h"
#include "events/geometry.h"
#include "experiments/calibrate_memory.h"
#include "experiments/calibration_file.h"
#include "experiments/clock_readings.h"
#include "experiments/cpu_choice.h"
#include "experiments/setup.h"
#include "model/calibrated_cpu.h"
#include "model/model.h"
#include "timing/canary.h"
#include "timing/core_probes.h"
#include "timing/reorder_probe.h"

namespace tmaprobe::experiments {
namespace {

class CoreCalibration {
  public:
    CoreCalibration(ClockReader& reader, const machine::Host& host) : reader_(reader), host_(host) {}

    Result<> measure(const OnProgress& on_progress) {
        const auto probes = timing::core_probes();
        for (std::size_t i = 0; i < probes.size(); ++i) {
            const timing::CoreProbe& probe = probes[i];
            if (on_progress)
                on_progress({"timing " + std::string(probe.fact),
                             static_cast<double>(i) / static_cast<double>(probes.size()),
                             {},
                             ProgressOf::step});
            if (!probe.needs.empty() && !machine::has_feature(host_, std::string(probe.needs))) continue;
            const bool latency = probe.tells == timing::CoreProbe::Tells::latency;
            Loop loop(probe.run);
            const auto readings = TRY(reader_.read(loop, probe.steps, latency ? cycles : per_cycle));
            reader_.add(fact_of(std::string(probe.fact), latency ? "cycles" : "steps per cycle", readings));
        }
        TRY(measure_branches());
        measure_reorder_buffer();
        return {};
    }

  private:
    Result<> measure_branches() {
        constexpr std::uint64_t count = 1 << 18;
        std::vector<unsigned char> decisions(count);
        Loop loop([&](std::uint64_t steps) { timing::run_branches(decisions.data(), count, steps); });
        const auto foreseen = TRY(reader_.read(loop, 1, cycles));
        std::mt19937 random(1);
        for (unsigned char& decision : decisions) decision = static_cast<unsigned char>(random() >> 24 & 1);
        const auto at_random = TRY(reader_.read(loop, 1, cycles));
        constexpr double steps_per_mispredicted = 2;
        reader_.add(difference("branch.mispredicted", fact_of("", "cycles", at_random), fact_of("", "cycles", foreseen),
                               1, steps_per_mispredicted));
        return {};
    }

    void measure_reorder_buffer() {
        constexpr int tries = 5;
        Readings readings;
        for (int attempt = 0; attempt < tries; ++attempt)
            if (const int longest = timing::longest_overlap(); longest > 0) readings.clean.push_back(longest);
        reader_.add(fact_of("reorder_buffer", "entries", readings));
    }

    ClockReader& reader_;
    const machine::Host& host_;
};

/// Cycles of one step, or steps of one cycle, as the model has it; nothing where it does not say.
std::optional<double> modelled(const timing::CoreProbe& probe, counters::CounterSource& model) {
    Loop loop(probe.run);
    if (!model.prepare({})) return std::nullopt;
    constexpr std::uint64_t turns = 1000;
    const auto sample = model.measure(loop, {0, 0, turns});
    if (!sample || !sample->model || !(sample->model->counted_instructions > 0)) return std::nullopt;
    const double turn_cycles = sample->model->cycles / sample->model->counted_instructions * probe.instructions;
    return probe.tells == timing::CoreProbe::Tells::latency ? turn_cycles / probe.steps : probe.steps / turn_cycles;
}

/// The tables and the model's source of this machine, where there are any.
struct Compared {
    std::optional<events::Table> table;
    std::optional<events::CpuGeometry> geometry;
    std::unique_ptr<counters::CounterSource> model;
};

Compared compared_with(const CalibrateRequest& request, const machine::Host& host, const machine::Topology& topology) {
    Compared compared;
    CountingRequest counting;
    counting.library = request.library;
    counting.source = SourceChoice::model;
    counting.calibration.use = false;
    auto setup = set_up(counting, host, topology);
    if (!setup || !setup->table) return compared;
    compared.table = std::move(setup->table);
    if (auto geometry = events::read_cpu_geometry(request.library, compared.table->folder))
        compared.geometry = std::move(*geometry);
    model::ModelOptions options;
    options.windows = 1;
    options.window_instructions = 8000;
    if (auto source = model::make_source(request.library, *compared.table, host, options))
        compared.model = std::move(*source);
    return compared;
}

std::vector<ComparedFact> compare(const std::vector<record::CalibratedFact>& facts, const Compared& with,
                                  const std::vector<events::CalibrationFact>& known,
                                  const std::vector<std::string>& used) {
    std::vector<ComparedFact> list;
    for (const events::CalibrationFact& about : known) {
        const auto found = std::ranges::find(facts, about.name, &record::CalibratedFact::name);
        if (found == facts.end()) continue;
        ComparedFact fact{about.what, *found, std::nullopt, std::nullopt,
                          std::ranges::find(used, about.name) != used.end()};
        if (with.geometry) fact.table = model::table_figure(about.name, *with.geometry);
        const auto probe = std::ranges::find(timing::core_probes(), about.name, &timing::CoreProbe::fact);
        if (probe != timing::core_probes().end() && with.model) fact.modelled = modelled(*probe, *with.model);
        list.push_back(std::move(fact));
    }
    return list;
}

/// The CPU asked for, or the quietest of those that this process may use.
int choose_cpu(const CalibrateRequest& request, const machine::Host& host, const machine::Topology& topology) {
    if (request.cpu >= 0) return request.cpu;
    std::vector<int> cpus;
    for (const auto& place : topology.cpus)
        if (place.allowed) cpus.push_back(place.cpu);
    const auto order = quietest_first(look_at_cpus(cpus, host), timing::canary_limits(host));
    return order.empty() ? machine::default_cpu(topology) : order.front();
}

}  // namespace

Result<CalibrationReport> calibrate(const CalibrateRequest& request, const machine::Host& host,
                                    const machine::Topology& topology, const OnProgress& on_progress) {
    if (host.is_emulated)
        return fail(ErrorCode::unavailable, "this machine is emulated in software: its times say nothing of a core",
                    "calibrate on hardware, or with hardware virtualisation");
    const auto known = TRY(events::read_calibration_facts(request.library));
    TRY(machine::pin_this_thread(choose_cpu(request, host, topology)));
    ClockReader measuring(request, host);
    TRY(CoreCalibration(measuring, host).measure(on_progress));
    TRY(calibrate_memory(measuring, events::complete_geometry(host, request.library), on_progress));

    CalibrationReport report;
    record::Calibration& calibration = report.calibration;
    calibration = started_calibration(host);
    calibration.facts = measuring.facts;
    if (measuring.clock_hz.empty())
        return fail(ErrorCode::unavailable, "the core clock cannot be told here, and no cycles without it");
    calibration.clock_hz = median(measuring.clock_hz);

    const Compared with = compared_with(request, host, topology);
    std::vector<std::string> used;
    if (with.table) calibration.folder = with.table->folder;
    if (with.geometry) {
        events::CpuGeometry calibrated = *with.geometry;
        used = model::calibrate(calibration, known, calibrated);
    }
    report.facts = compare(calibration.facts, with, known, used);
    report.left_out = measuring.left_out;
    return report;
}

}  // namespace tmaprobe::experiments
