#include "experiments/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "base/statistics.h"
#include "counters/source.h"
#include "experiments/cpu_choice.h"
#include "experiments/setup.h"
#include "experiments/timed_workload.h"
#include "experiments/workloads.h"
#include "kernels/kernel.h"
#include "memory/limits.h"
#include "model/calibrated_cpu.h"
#include "model/model.h"
#include "timing/canary.h"
#include "timing/core_probes.h"
#include "timing/effective_pages.h"
#include "timing/reorder_probe.h"

namespace tmaprobe::experiments {
namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib, page_bytes = 4 * kib;
constexpr std::int64_t fewest_clean = 3;
/// Readings that differ by more are of no one figure; with disturbed ones among them, already those that differ by
/// less: what disturbed them was then no part of the loop's time.
constexpr double widest_spread = 0.25, widest_disturbed_spread = 0.1;

/// A loop of this program as a source takes it.
class Loop final : public counters::Workload {
  public:
    explicit Loop(std::function<void(std::uint64_t)> run) : run_(std::move(run)) {}
    void run(std::uint64_t iterations) override { run_(iterations); }

  private:
    std::function<void(std::uint64_t)> run_;
};

/// Readings of one quantity, in its own unit.
struct Readings {
    std::vector<double> clean, disturbed;
};

/// From the time of one step, ns, and the core clock.
using Convert = double (*)(double step_ns, double clock_hz);
double cycles(double step_ns, double clock_hz) { return step_ns * clock_hz * 1e-9; }
double per_cycle(double step_ns, double clock_hz) { return 1 / cycles(step_ns, clock_hz); }
double nanoseconds(double step_ns, double) { return step_ns; }
double per_second(double step_ns, double) { return 1e9 / step_ns; }

/// Why a fact is of no one figure, or empty.
std::string reason_against(const record::CalibratedFact& fact) {
    if (fact.low <= 0) return "it is not told from what surrounds it";
    const bool enough = fact.clean >= fewest_clean;
    const double spread = (fact.high - fact.low) / fact.value;
    if (spread <= (enough ? widest_spread : widest_disturbed_spread)) return {};
    if (enough) return fmt::format("the readings differ by {:.0f}%", 100 * spread);
    return fmt::format("only {} of {} readings were undisturbed, and they differ by {:.0f}%", fact.clean,
                       fact.clean + fact.disturbed, 100 * spread);
}

record::CalibratedFact fact_of(const std::string& name, const std::string& unit, const Readings& readings) {
    record::CalibratedFact fact;
    fact.name = name;
    fact.unit = unit;
    fact.clean = static_cast<std::int64_t>(readings.clean.size());
    fact.disturbed = static_cast<std::int64_t>(readings.disturbed.size());
    std::vector<double> values = readings.clean;
    if (fact.clean < fewest_clean) values.insert(values.end(), readings.disturbed.begin(), readings.disturbed.end());
    if (values.empty()) return fact;
    // An interrupt that no look at the CPU saw is one reading of many.
    std::ranges::sort(values);
    const std::size_t outliers = values.size() / 8;
    fact.value = median(values);
    fact.low = values[outliers];
    fact.high = values[values.size() - 1 - outliers];
    fact.reason = reason_against(fact);
    return fact;
}

/// `share` of what `less` is, taken off `more`, `times` over.
record::CalibratedFact difference(const std::string& name, const record::CalibratedFact& more,
                                  const record::CalibratedFact& less, double share, double times) {
    record::CalibratedFact fact = more;
    fact.name = name;
    fact.value = (more.value - share * less.value) * times;
    fact.low = (more.low - share * less.high) * times;
    fact.high = (more.high - share * less.low) * times;
    fact.clean = std::min(more.clean, less.clean);
    fact.disturbed = std::max(more.disturbed, less.disturbed);
    fact.reason = reason_against(fact);
    return fact;
}

std::uint64_t cache_bytes(const machine::Host& host, int level) {
    for (const machine::Cache& cache : host.caches)
        if (cache.level == level && cache.kind != "instruction") return cache.size_bytes;
    return 0;
}

class Calibration {
  public:
    Calibration(const CalibrateRequest& request, const machine::Host& host)
        : request_(request), host_(host), bracket_(timing::canary_bracket(host)) {}

    Result<> measure_core(const OnProgress& on_progress) {
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
            const auto readings = TRY(read(loop, probe.steps, latency ? cycles : per_cycle));
            add(fact_of(std::string(probe.fact), latency ? "cycles" : "steps per cycle", readings));
        }
        TRY(measure_branches());
        measure_reorder_buffer();
        return {};
    }

    Result<> measure_memory(const OnProgress& on_progress) {
        const auto say = [&](const char* what) {
            if (on_progress) on_progress({what, 1, {}, ProgressOf::step});
        };
        const auto mode = memory::parse_page_mode("thp");
        large_ = mode ? *mode : memory::PageMode{};
        if (mode) {
            const auto effective = timing::effective_pages(host_, *mode, std::nullopt);
            split_ = effective.name == "4k";
        }
        say("translation");
        constexpr std::uint64_t few = 256, many = 8192;
        const auto dense = TRY(chase("load.few_lines", "random", 16 * kib, {}));
        const auto scattered = TRY(chase("translation.l2_hit", "tlb", few * page_bytes, {}));
        add(difference("translation.l2_hit", scattered, dense, 1, 1));
        const std::uint64_t l1 = cache_bytes(host_, 1), l2 = cache_bytes(host_, 2), l3 = cache_bytes(host_, 3);
        if (many * 64 <= l2 / 2) {
            const auto lines = TRY(chase("load.many_lines", "random", many * 64, large_));
            const auto walked = TRY(chase("translation.walk", "tlb", many * page_bytes, {}));
            add(difference("translation.walk", walked, lines, 1, 1));
        }
        say("caches");
        if (l2 > 4 * l1) TRY(add_load("load.l2", l2 / 2));
        if (l3 > 4 * l2) TRY(add_load("load.l3", 3 * l2));
        say("memory");
        return measure_main_memory(std::max(l2, l3));
    }

    std::vector<record::CalibratedFact> facts;
    std::vector<std::string> left_out;
    std::vector<double> clock_hz;

  private:
    void add(record::CalibratedFact fact) {
        if (fact.clean + fact.disturbed == 0) return;
        if (fact.value > 0)
            facts.push_back(std::move(fact));
        else
            left_out.push_back(fact.name + ": it is not told from what surrounds it");
    }

    Result<Readings> read(counters::Workload& workload, double steps, Convert convert) {
        if (request_.interrupted && request_.interrupted())
            return fail(ErrorCode::interrupted, "interrupted: nothing is written");
        timing::TimingRequest timing_request;
        timing_request.most = 15;
        timing_request.tightness = 0.01;
        timing_request.repetition_ns = 2e6;
        timing_request.budget_ns = 60e6;
        timing_request.patience = 20;
        const auto clock = counters::make_clock_source();
        const auto timing = TRY(timing::time_region(timed_region(*clock, workload), bracket_, timing_request, {}));
        Readings readings;
        for (const auto& repetition : timing.repetitions) {
            const double hz = repetition.conditions.clock_hz;
            if (!(hz > 0)) continue;
            const bool clean = repetition.conditions.clean();
            const double thread_ns = repetition.thread_ns_per_iteration;
            const double ns = !clean && thread_ns > 0 ? thread_ns : repetition.ns_per_iteration;
            (clean ? readings.clean : readings.disturbed).push_back(convert(ns / steps, hz));
            clock_hz.push_back(hz);
        }
        return readings;
    }

    Result<> measure_branches() {
        constexpr std::uint64_t count = 1 << 18;
        std::vector<unsigned char> decisions(count);
        Loop loop([&](std::uint64_t steps) { timing::run_branches(decisions.data(), count, steps); });
        const auto foreseen = TRY(read(loop, 1, cycles));
        std::mt19937 random(1);
        for (unsigned char& decision : decisions) decision = static_cast<unsigned char>(random() >> 24 & 1);
        const auto at_random = TRY(read(loop, 1, cycles));
        constexpr double steps_per_mispredicted = 2;
        add(difference("branch.mispredicted", fact_of("", "cycles", at_random), fact_of("", "cycles", foreseen), 1,
                       steps_per_mispredicted));
        return {};
    }

    void measure_reorder_buffer() {
        constexpr int tries = 5;
        Readings readings;
        for (int attempt = 0; attempt < tries; ++attempt)
            if (const int longest = timing::longest_overlap(); longest > 0) readings.clean.push_back(longest);
        add(fact_of("reorder_buffer", "entries", readings));
    }

    /// Time of one load of a chain through a block.
    Result<record::CalibratedFact> chase(const std::string& name, const char* order, std::uint64_t bytes,
                                         const memory::PageMode& pages, const char* unit = "cycles",
                                         Convert convert = cycles) {
        kernels::Parameters parameters;
        parameters.size_bytes = bytes;
        parameters.pages = pages;
        parameters.options["order"] = order;
        return time_kernel(name, "chase", parameters, unit, convert);
    }

    Result<record::CalibratedFact> time_kernel(const std::string& name, const char* kernel,
                                               const kernels::Parameters& parameters, const char* unit,
                                               Convert convert) {
        const auto known = TRY(kernels::find(kernel));
        const auto variant = TRY(kernels::choose_variant(*known, {}, host_, parameters));
        KernelWorkload workload(TRY(known->make(variant.name, parameters)));
        const auto work = workload.kernel().per_iteration();
        const bool bytes = convert == per_second;
        return fact_of(name, unit, TRY(read(workload, bytes ? work.bytes : work.operations, convert)));
    }

    /// Where translations of 4 KiB are used, the second TLB's time is taken off those loads whose page the first does
    /// not have; page walks cannot be.
    Result<> add_load(const char* name, std::uint64_t bytes) {
        auto fact = TRY(chase(name, "random", bytes, large_));
        const double pages = static_cast<double>(bytes) / page_bytes;
        const auto hit = std::ranges::find(facts, "translation.l2_hit", &record::CalibratedFact::name);
        if (split_ && pages > tlb_entries(2, 1024))
            fact.reason = "huge pages are split by the hypervisor: page walks are in it";
        else if (split_ && hit != facts.end())
            fact = difference(name, fact, *hit, std::max(0.0, 1 - tlb_entries(1, 64) / pages), 1);
        add(std::move(fact));
        return {};
    }

    /// Translations of 4 KiB that a TLB of loads holds; `usual` where nothing tells.
    double tlb_entries(int level, int usual) const {
        for (const machine::Tlb& tlb : host_.tlbs)
            if (tlb.level == level && tlb.page_bytes == page_bytes && tlb.entries > 0 &&
                (tlb.kind == "data" || tlb.kind == "unified"))
                return tlb.entries;
        return usual;
    }

    Result<> measure_main_memory(std::uint64_t last_cache) {
        constexpr std::uint64_t least = 256 * mib, most = 1024 * mib;
        const std::uint64_t wanted = std::max(least, 4 * last_cache), bytes = std::min(most, wanted);
        const auto available = memory::available_memory({}, std::nullopt);
        if (available && available->bytes / 2 < bytes) {
            left_out.push_back(fmt::format("memory: a block of {} MiB does not fit", bytes / mib));
            return {};
        }
        std::string reason;
        if (bytes < wanted)
            reason = fmt::format("a third-level cache of {} MiB may hold part of the {} MiB block", last_cache / mib,
                                 bytes / mib);
        else if (split_)
            reason = "huge pages are split by the hypervisor: page walks are in it";
        auto latency = TRY(chase("memory.latency", "random", bytes, large_, "ns", nanoseconds));
        kernels::Parameters parameters;
        parameters.size_bytes = bytes;
        parameters.pages = large_;
        auto bandwidth = TRY(time_kernel("memory.bandwidth", "stream", parameters, "bytes per second", per_second));
        for (auto* fact : {&latency, &bandwidth}) {
            if (fact->reason.empty()) fact->reason = reason;
            add(std::move(*fact));
        }
        return {};
    }

    const CalibrateRequest& request_;
    const machine::Host& host_;
    timing::Bracket bracket_;
    memory::PageMode large_;
    bool split_ = false;  ///< huge pages have small entries in the TLBs
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
    Calibration measuring(request, host);
    TRY(measuring.measure_core(on_progress));
    TRY(measuring.measure_memory(on_progress));

    CalibrationReport report;
    record::Calibration& calibration = report.calibration;
    calibration.schema = record::calibration_schema;
    calibration.tool_version = TMAPROBE_VERSION;
    calibration.cpu_id = host.cpu_id;
    calibration.cpu_model = host.cpu_model;
    calibration.measured = fmt::format(
        "{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
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
