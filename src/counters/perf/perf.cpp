#include "counters/perf/perf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>

#include "base/file.h"
#include "counters/perf/attributes.h"
#include "counters/perf/clock_events.h"
#include "counters/perf/collect.h"
#include "counters/perf/counter_set.h"
#include "counters/perf/errors.h"
#include "counters/perf/latency_sampling.h"
#include "counters/perf/region.h"
#include "counters/perf/session.h"
#include "counters/perf/targets.h"
#include "counters/perf/turns.h"
#include "machine/pmu_devices.h"
#include "machine/sysfs.h"

namespace tmaprobe::counters::perf {
namespace {

/// The kernel's default where sysfs says nothing: one tick of 250 Hz.
constexpr double default_rotation_ns = 4e6;

/// Parts in which a multiplexed region is measured, to see how much its rates vary.
constexpr std::size_t windows_per_region = 24;

/// Whether the event is a core PMU's, under its own name or the kernel's.
bool needs_core_counter(const PlannedEvent& event, const std::vector<machine::Pmu>& pmus) {
    const std::string& pmu = event.definition.pmu;
    return pmu.empty() || pmu.starts_with("cpu") || pmu.starts_with("armv") || pmu == "hardware" || pmu == "hw_cache" ||
           std::ranges::find(pmus, pmu, &machine::Pmu::name) != pmus.end();
}

/// Opens and closes every pass once. Fails when none of the hardware events can be had, or nothing at all.
Result<> try_out(const Plan& plan, const CountingTarget& target) {
    const auto& pmus = known_core_pmus();
    const PlannedEvent* refused = nullptr;
    int error = 0;
    bool counts_hardware = false, wants_hardware = false, counts_any = false;
    const auto look_at = [&](const Pass& pass, const OpenedEvent& opened) {
        const auto& event = pass.groups[opened.group].events[opened.index];
        const bool hardware = needs_core_counter(event, pmus);
        wants_hardware = wants_hardware || hardware;
        counts_any = counts_any || opened.error == 0;
        counts_hardware = counts_hardware || (hardware && opened.error == 0);
        if (opened.error && (!refused || (hardware && !needs_core_counter(*refused, pmus)))) {
            refused = &event;
            error = opened.error;
        }
    };
    const std::size_t files = files_left();
    for (const auto& pass : plan.passes) {
        auto turns = turns_of(pass.groups, target, files);
        if (turns.empty()) return explain_open(EMFILE, pass.groups.front().events.front(), target);
        for (const Turn& turn : turns) {
            auto set = TRY(CounterSet::open_some(pass.groups, part_of(target, turn), turn.groups));
            for (const auto& opened : set.opened())
                if (std::ranges::find(turn.groups, opened.group) != turn.groups.end()) look_at(pass, opened);
        }
    }
    if (!refused || (wants_hardware ? counts_hardware : counts_any)) return {};
    return explain_open(error, *refused, target);
}

/// Of a process, whose counts have its own time: it had none.
bool never_on_a_cpu(const std::vector<record::Event>& events) {
    bool any = false;
    for (const auto& event : events) {
        if (event.reading.time_enabled_ns > 0) return false;
        any = any || event.note == record::Note::not_counted;
    }
    return any;
}

/// Events from which the cost of start and stop is taken off. A group is treated as one: to correct some of
/// its events and not others would shift every ratio between them.
std::vector<std::size_t> subtractable(const std::vector<record::Event>& events, const Overhead& overhead) {
    std::map<int, bool> sound;  // by group: every event ran all the time and counted more than the cost
    for (std::size_t index = 0; index < events.size() && index < overhead.counts.size(); ++index) {
        const auto& reading = events[index].reading;
        if (reading.time_running_ns == 0) continue;
        const bool fine = reading.time_running_ns == reading.time_enabled_ns && reading.value >= overhead.counts[index];
        const auto [place, is_new] = sound.emplace(events[index].group, fine);
        if (!is_new) place->second = place->second && fine;
    }
    std::vector<std::size_t> chosen;
    for (std::size_t index = 0; index < events.size() && index < overhead.counts.size(); ++index) {
        const auto group = sound.find(events[index].group);
        const bool whole_group = group != sound.end() && group->second;
        if (whole_group && events[index].reading.time_running_ns > 0 && overhead.counts[index] > 0)
            chosen.push_back(index);
    }
    return chosen;
}

class PerfSource final : public CounterSource {
  public:
    PerfSource(Scope scope, PerfOptions options, std::optional<process::ControlChannel> control)
        : scope_(std::move(scope)), options_(std::move(options)), control_(std::move(control)) {}

    SourceTraits traits() const override { return {}; }
    std::vector<PmuLimits> limits() const override {
        return options_.limits.empty() ? probe_limits() : options_.limits;
    }

    Result<> prepare(const Plan& plan) override {
        region_.reset();
        plan_ = plan;
        rotation_ns_ = default_rotation_ns;
        for (const auto& pmu : known_core_pmus()) {
            if (pmu.mux_interval_ms > 0) rotation_ns_ = pmu.mux_interval_ms * 1e6;
            listed_.merge(machine::listed_common_events(pmu));
        }
        CountingTarget target;
        target.user = plan.user;
        target.kernel = plan.kernel;
        if (scope_.kind == Scope::Kind::cpus) {
            target.threads = {-1};
            target.cpus = scope_.cpus;
        } else if (scope_.kind == Scope::Kind::process) {
            const auto threads = TRY(threads_of(scope_, options_.detail));
            target.threads = {threads.front()};
            target.other_process = true;
        }
        TRY(try_out(plan_, target));
        choose_latencies(target);
        return {};
    }

    std::size_t runs_of(const Plan& plan, const Workload& workload) const override {
        return CounterSource::runs_of(plan, workload) + (samples_in_own_run(workload) ? 1 : 0) +
               (regions_in_own_runs(workload) ? plan.passes.size() : 0);
    }

    Result<Sample> measure(Workload& workload, Repetition repetition) override {
        const std::size_t counted = CounterSource::runs_of(plan_, workload);
        if (repetition.pass == counted && samples_in_own_run(workload)) return sample_latencies(workload, repetition);
        if (repetition.pass >= counted)
            return count_regions(workload, repetition,
                                 repetition.pass - counted - (samples_in_own_run(workload) ? 1 : 0));
        if (repetition.pass >= plan_.passes.size()) return measure_nothing(workload, repetition);
        auto sample = is_region(workload)
                          ? measure_region(workload, repetition)
                          : run_session(session(repetition.pass, samples_in_own_run(workload)), workload, repetition);
        if (!sample || sample->nothing_seen) return sample;
        sample->latencies.insert(sample->latencies.end(), missing_.begin(), missing_.end());
        note_unimplemented(sample->events, listed_);
        for (auto& [cpu, events] : sample->by_cpu) note_unimplemented(events, listed_);
        if (scope_.kind == Scope::Kind::process && never_on_a_cpu(sample->events)) {
            sample->warnings.push_back({"was_asleep",
                                        "what was counted was on no CPU meanwhile: there was nothing to count",
                                        "a longer --seconds, or wait until it works"});
            return sample;
        }
        const bool in_turns =
            std::ranges::any_of(sample->warnings, [](const auto& warning) { return warning.id == "counted_in_turns"; });
        for (auto& warning : warnings_of(sample->events, in_turns ? Policy::multiplex : plan_.policy))
            sample->warnings.push_back(std::move(warning));
        return sample;
    }

    record::Source describe() const override { return {record::SourceKind::perf, "", "counted with perf_event"}; }

  private:
    PassPlace place(std::size_t pass) const {
        PassPlace place{static_cast<int>(pass), 0};
        for (std::size_t earlier = 0; earlier < pass; ++earlier)
            place.first_group += static_cast<int>(plan_.passes[earlier].groups.size());
        return place;
    }

    Session session(std::size_t pass, bool counts_alone) {
        return {scope_,
                options_,
                plan_,
                pass,
                place(pass),
                rotation_ns_,
                listed_,
                control_ ? &*control_ : nullptr,
                counts_alone ? std::vector<PlannedEvent>{} : sampled_,
                options_.regions && plan_.policy == Policy::multiplex ? &plan_.passes[pass] : nullptr,
                place(pass)};
    }

    /// A run in which nothing else is counted.
    Session session_of_nothing_else() {
        nothing_counted_ = {};
        nothing_counted_.passes.emplace_back();
        nothing_counted_.user = plan_.user;
        nothing_counted_.kernel = plan_.kernel;
        return {scope_, options_, nothing_counted_, 0, {}, rotation_ns_, listed_, control_ ? &*control_ : nullptr};
    }

    /// Regions' counters are as many again: where there are several runs anyway, they have some of their own.
    bool regions_in_own_runs(const Workload& workload) const {
        return options_.regions && plan_.policy == Policy::passes && !workload.command().empty();
    }

    Result<Sample> count_regions(Workload& workload, const Repetition& repetition, std::size_t pass) {
        Session alone = session_of_nothing_else();
        alone.regions = &plan_.passes[pass];
        alone.regions_place = place(pass);
        return run_session(alone, workload, repetition);
    }

    bool is_region(const Workload& workload) const {
        return scope_.kind == Scope::Kind::this_thread && workload.command().empty();
    }

    /// Which latencies this machine samples of the target, tried out, and which not.
    void choose_latencies(const CountingTarget& target) {
        sampled_.clear();
        missing_.clear();
        if (options_.interval_ms > 0) {
            missing_ = all_missing(plan_.latencies, record::NoLatency::with_intervals);
            return;
        }
        for (auto& tried : LatencySampling::open(plan_.latencies, target).finish()) {
            if (tried.missing == record::NoLatency::none)
                sampled_.push_back(std::move(tried.event));
            else
                missing_.push_back(std::move(tried));
        }
    }

    /// What is sampled takes counters from what is counted: where there are several runs anyway, it has one of its own.
    bool samples_in_own_run(const Workload& workload) const {
        return !sampled_.empty() && (is_region(workload) || plan_.policy == Policy::passes);
    }

    Result<Sample> sample_latencies(Workload& workload, const Repetition& repetition) {
        if (is_region(workload)) return sample_latencies_of_region(workload, repetition);
        Session alone = session_of_nothing_else();
        alone.latencies = sampled_;
        return run_session(alone, workload, repetition);
    }

    /// As often as it takes to have some samples.
    Result<Sample> sample_latencies_of_region(Workload& workload, const Repetition& repetition) {
        constexpr std::uint64_t at_least_ns = 100'000'000;
        CountingTarget target;
        const auto threads = workload.threads();
        target.threads.insert(target.threads.end(), threads.begin(), threads.end());
        target.user = plan_.user;
        target.kernel = plan_.kernel;
        region_.reset();  // its counters would take part
        auto sampling = LatencySampling::open(sampled_, target);
        Sample sample;
        sample.iterations = repetition.iterations;
        const Instant start = now();
        sampling.enable();
        do {
            workload.prepare();
            workload.run(repetition.iterations);
            sampling.drain();
            sample.elapsed_ns = now().since(start).ns;
        } while (sample.elapsed_ns < at_least_ns);
        sampling.disable();
        sample.latencies = sampling.finish();
        return sample;
    }

    /// A plan without events still measures how long the workload takes.
    static Result<Sample> measure_nothing(Workload& workload, const Repetition& repetition) {
        return make_clock_source()->measure(workload, repetition);
    }

    Result<Sample> measure_region(Workload& workload, const Repetition& repetition) {
        const auto threads = workload.threads();
        if (!region_ || region_pass_ != repetition.pass || region_threads_ != threads) {
            region_spreads_.clear();
            region_.reset();  // closes the last pass's counters before this one's are opened
            auto opened = TRY(Region::open(plan_.passes[repetition.pass], threads, plan_.user, plan_.kernel,
                                           options_.user_space_reads && plan_.policy == Policy::passes));
            region_.emplace(std::move(opened));
            region_pass_ = repetition.pass;
            region_threads_ = threads;
        }
        const bool multiplexed = plan_.policy == Policy::multiplex;
        const auto measured =
            TRY(region_->measure(workload, repetition.iterations, multiplexed ? windows_per_region : 1));

        Sample sample;
        sample.iterations = repetition.iterations;
        sample.elapsed_ns = measured.elapsed_ns;
        const Pass& pass = plan_.passes[repetition.pass];
        const auto events_of = [&](const Span& span) {
            return collect(pass, place(repetition.pass), region_->set().layout(), span, measured.residency);
        };
        sample.events = events_of(measured.whole);
        set_clock_events(sample.events, {measured.elapsed_ns, measured.elapsed_ticks});
        for (const Span& window : measured.windows) add_rates(region_spreads_, events_of(window));
        const auto windows = static_cast<double>(std::max<std::size_t>(1, measured.windows.size()));
        set_bounds(sample.events, region_spreads_, static_cast<double>(measured.elapsed_ns) / windows, {rotation_ns_});
        report_overhead(sample);
        return sample;
    }

    /// Says what start and stop cost, and takes off what they add.
    void report_overhead(Sample& sample) const {
        const Overhead& overhead = region_->overhead();
        auto& detail = perf_detail(sample).overhead.emplace();
        detail.method = region_->method();
        detail.pair_ns = overhead.pair_ns;
        for (std::size_t index = 0; index < sample.events.size() && index < overhead.counts.size(); ++index)
            if (sample.events[index].reading.time_running_ns > 0)
                detail.counts[sample.events[index].name] = overhead.counts[index];
        for (const auto index : subtractable(sample.events, overhead)) {
            sample.events[index].reading.value -= overhead.counts[index];
            detail.subtracted[sample.events[index].name] = overhead.counts[index];
        }
    }

    Scope scope_;
    PerfOptions options_;
    std::optional<process::ControlChannel> control_;  ///< of all runs
    Plan plan_, nothing_counted_;
    double rotation_ns_ = default_rotation_ns;
    std::set<std::uint64_t> listed_;  ///< common events that an Arm machine's PMUs implement
    std::optional<Region> region_;
    std::size_t region_pass_ = 0;
    std::vector<pid_t> region_threads_;
    std::vector<PlannedEvent> sampled_;       ///< of Plan::latencies, those that the machine samples
    std::vector<SampledLatency> missing_;     ///< the others
    std::vector<RateSpread> region_spreads_;  ///< over all repetitions: the more, the surer the bounds
};

}  // namespace

Result<std::unique_ptr<CounterSource>> make_source(const Scope& scope, const PerfOptions& options) {
    Scope named = scope;
    if (scope.kind == Scope::Kind::cpus && scope.cpus.empty())  // none named: all that are online
        named.cpus = machine::parse_cpu_list(read_line("/sys/devices/system/cpu/online"));
    const std::filesystem::path all_cpus = "/sys/devices/system/cpu";
    for (const int cpu : named.cpus) {
        std::error_code ignored;
        // One that is offline has its folder all the same, and the kernel says so.
        if (scope.kind != Scope::Kind::cpus || std::filesystem::exists(all_cpus / fmt::format("cpu{}", cpu), ignored) ||
            !std::filesystem::exists(all_cpus, ignored))
            continue;
        return fail(ErrorCode::bad_usage, fmt::format("there is no CPU {}", cpu),
                    "this machine's CPUs that are online: " + read_line(all_cpus / "online"));
    }
    if (scope.kind == Scope::Kind::process && scope.pid <= 0)
        return fail(ErrorCode::bad_usage, "no process was named to count", "--pid PID");
    std::optional<process::ControlChannel> control;
    if (!options.detail.control.empty()) control.emplace(TRY(process::ControlChannel::open(options.detail.control)));
    return std::make_unique<PerfSource>(std::move(named), options, std::move(control));
}

}  // namespace tmaprobe::counters::perf
