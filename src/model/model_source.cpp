#include "model/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/command_simulation.h"
#include "model/core/simulate.h"
#include "model/llvm/decoder.h"
#include "model/mapping.h"
#include "model/modelled_cpu.h"
#include "model/repeatable_simulation.h"
#include "model/simulation.h"

namespace tmaprobe::model {
namespace {

class ModelSource final : public counters::CounterSource {
  public:
    ModelSource(ModelledCpu geometry, Mapping mapping, std::unique_ptr<core::Core> core,
                std::unique_ptr<trace::Decoder> decoder, std::string cpu_id, ModelOptions options)
        : geometry_(std::move(geometry)),
          mapping_(std::move(mapping)),
          core_(std::move(core)),
          decoder_(std::move(decoder)),
          cpu_id_(std::move(cpu_id)),
          options_(std::move(options)) {}

    counters::SourceTraits traits() const override {
        return {record::Status::modelled, false, false, "modelling the instructions that run"};
    }

    /// The model has no counters to run out of: everything is one pass.
    std::vector<counters::PmuLimits> limits() const override {
        constexpr int plenty = 1 << 16;
        counters::PmuLimits limits;
        limits.general_counters = limits.fixed_counters = plenty;
        limits.has_slots = limits.has_level2_metrics = true;
        return {limits};
    }

    Result<> prepare(const counters::Plan& plan) override {
        plan_ = plan;
        modelled_.reset();
        return {};
    }

    Result<counters::Sample> measure(counters::Workload& workload, counters::Repetition repetition) override {
        // Every pass sees the same facts: the model has no counters to run out of.
        if (!modelled_ || repetition.pass == 0) modelled_ = TRY(simulate(workload));
        return sample(repetition);
    }

    record::Source describe() const override {
        std::string detail = fmt::format("simulated with LLVM's {} scheduling data on the instructions that ran",
                                         geometry_.core.llvm_cpu);
        if (!geometry_.core.borrowed_model.empty()) detail += "; " + geometry_.core.borrowed_model;
        if (options_.repeatable)
            detail += "; in a run of its own from start to end under the tracer, beside the one that is timed";
        constexpr std::size_t day_characters = 10;
        const std::string day =
            options_.machine.calibration ? options_.machine.calibration->measured.substr(0, day_characters) : "";
        if (!day.empty()) detail += "; calibrated on this machine on " + day;
        if (geometry_.held_by_caches)
            detail += fmt::format(
                "; its second and third level hold {:.0f} MiB together in this virtual machine{}, as measured within "
                "the last hour",
                static_cast<double>(geometry_.held_by_caches) / (1 << 20),
                geometry_.l3.others_fill_ns > 0 ? ", and less the longer nothing there is used: others fill it, too"
                                                : "");
        if (geometry_.translation.large_page_walk > 0)
            detail += fmt::format(
                "; the host of this virtual machine splits large pages: an entry of a TLB holds 4 KiB of one, and a "
                "walk "
                "in one takes {:.0f}% of one in a small page",
                100 * geometry_.translation.large_page_walk);
        if (geometry_.l3_share < 1)
            detail += fmt::format(
                "; its third level is taken for {:.0f}% of the whole: the part of this virtual machine's CPUs",
                100 * geometry_.l3_share);
        return {record::SourceKind::model, cpu_id_, detail, day};
    }

  private:
    Result<Modelled> simulate(counters::Workload& workload) {
        const auto command = workload.command();
        if (workload.only_waits())
            return simulate_processes(options_.processes, options_.seconds, *core_, *decoder_, geometry_, options_);
        if (command.empty()) return simulate_kernel(workload, *core_, *decoder_, geometry_, options_);
        if (options_.repeatable) return simulate_repeatably(command, *core_, *decoder_, geometry_, options_);
        return simulate_command(command, *core_, *decoder_, geometry_, options_);
    }

    counters::Sample sample(const counters::Repetition& repetition) const {
        counters::Sample sample;
        sample.iterations = repetition.iterations;
        sample.exit_status = modelled_->exit_status;
        sample.warnings = modelled_->warnings;
        sample.interrupted = modelled_->interrupted;
        sample.nothing_seen = modelled_->windows.empty();
        if (modelled_->elapsed_ns > 0) {
            sample.traced = time_of_command();
        }
        sample.elapsed_ns = !modelled_->windows.empty()
                                ? static_cast<std::uint64_t>(value_of("cycles") / geometry_.frequency_hz * 1e9)
                                : modelled_->elapsed_ns;
        std::map<std::string, std::string> missing;
        sample.events =
            sample.nothing_seen ? modelled_->software_events : events_of(modelled_->facts, repetition.pass, missing);
        for (const FactVariation& variation : modelled_->variations) {
            std::map<std::string, std::string> ignored;
            sample.variations.push_back(
                events_of(for_as_many_instructions(variation.facts, modelled_->facts), repetition.pass, ignored));
        }
        if (!sample.nothing_seen && repetition.pass == 0) add_software_events(sample);
        sample.model = detail_of(*modelled_);
        sample.model->not_modelled = std::move(missing);
        sample.attribution = modelled_->attribution;
        if (modelled_->regions) sample.regions = regions_of(*modelled_->regions, repetition.pass);
        return sample;
    }

    counters::RegionSamples regions_of(const ModelledRegions& regions, std::size_t pass) const {
        counters::RegionSamples samples{regions.known, {}};
        std::map<std::string, std::string> ignored;
        for (const RegionSum& sum : regions.sums) {
            counters::RegionEvents& region = samples.events.emplace_back();
            if (sum.facts.empty()) continue;
            region.events = events_of(sum.facts, pass, ignored);
            for (const FactVariation& variation : sum.variations)
                region.variations.push_back(
                    events_of(for_as_many_instructions(variation.facts, sum.facts), pass, ignored));
        }
        return samples;
    }

    /// The kernel's own counts, which are measured, beside those of the model, in a group of their own.
    void add_software_events(counters::Sample& sample) const {
        int group = 0;
        for (const auto& event : sample.events) group = std::max(group, event.group + 1);
        for (auto event : modelled_->software_events) {
            event.group = group;
            sample.events.push_back(event);
            for (auto& variation : sample.variations) variation.push_back(event);
        }
    }

    record::ModelDetail detail_of(const Modelled& m) const {
        record::ModelDetail detail;
        detail.core_model = geometry_.core.llvm_cpu;
        detail.frequency_hz = geometry_.frequency_hz;
        detail.windows = m.windows.size();
        detail.instructions = m.traced.steps;
        detail.warm_up_instructions = m.warmed;
        detail.simulated_instructions = m.simulated_instructions;
        detail.cycles = value_of("cycles");
        detail.counted_instructions = value_of("instructions");
        detail.stepped_in_software = m.traced.stepped_in_software;
        detail.undecodable = m.traced.undecodable;
        detail.unmodelled = value_of("unmodelled");
        detail.further_tasks = m.further_tasks;
        detail.traced_by = m.translated ? "translation" : "single steps";
        detail.tracing_ns = m.tracing_ns;
        detail.simulating_ns = m.simulating_ns;
        // Traced code is a sample: its time on the target over the time that ran untraced.
        if (m.native_ns + m.modelled_ns > 0) detail.coverage = m.modelled_ns / (m.native_ns + m.modelled_ns);
        detail.facts.insert(m.facts.begin(), m.facts.end());
        for (const auto& [reason, windows] : m.ended_early)
            detail.ended_early[std::string(trace::name_of(reason))] = windows;
        detail.clock_check = m.clock_check;
        if (m.sampling) {
            detail.sampling = *m.sampling;
            detail.measured_ns = static_cast<double>(m.elapsed_ns);
        }
        for (const auto& window : m.windows)
            detail.each_window.push_back({window.cycles, window.instructions, window.native_ns});
        for (const FactVariation& variation : m.variations) {
            const auto of = [&](const char* fact) {
                return variation.facts.count(fact) ? variation.facts.find(fact)->second : 0.0;
            };
            detail.variations.push_back({variation.what, of("cycles"), of("instructions")});
        }
        detail.splits_large_pages = geometry_.translation.large_page_walk > 0;
        detail.assumed_pages = value_named<record::PageKind>(options_.assume_pages).value_or(record::PageKind::none);
        return detail;
    }

    /// The clock's time, and what of it the stops for copies took: of one thread, which the rest may have waited for or
    /// not. The pages that became a process's own again cost it about a microsecond each.
    counters::TracedTime time_of_command() const {
        constexpr double page_ns = 1000;
        counters::TracedTime time;
        time.elapsed_ns = static_cast<double>(modelled_->elapsed_ns);
        if (!modelled_->sampling) return time;
        const auto& pauses = modelled_->sampling->pauses;
        time.added_ns = std::min(time.elapsed_ns, pauses.total_ns);
        time.added_high_ns =
            std::min(time.elapsed_ns, pauses.total_ns + page_ns * static_cast<double>(pauses.copied_pages));
        return time;
    }

    /// A variation may be of one window: as it would be of all instructions, so that sums are comparable too.
    static Facts for_as_many_instructions(Facts facts, const Facts& sums) {
        const auto own = facts.find("instructions");
        if (own == facts.end() || own->second <= 0) return facts;
        const double factor = model::value_of(sums, "instructions") / own->second;
        for (auto& [name, value] : facts) value *= factor;
        return facts;
    }

    double value_of(const char* fact) const { return model::value_of(modelled_->facts, fact); }

    std::vector<record::Event> events_of(const Facts& facts, std::size_t pass,
                                         std::map<std::string, std::string>& missing) const {
        std::vector<record::Event> events;
        if (pass >= plan_.passes.size() || facts.empty()) return events;
        int group_number = 0;
        for (const counters::EventGroup& group : plan_.passes[pass].groups) {
            for (const counters::PlannedEvent& planned : group.events) {
                double value = 0;
                std::string why;
                if (!modelled_count(mapping_, planned, facts, value, why)) {
                    missing[planned.name] = why;
                    continue;
                }
                record::Event event = counters::describe(planned);
                event.reading.value = value;
                event.reading.raw = static_cast<std::uint64_t>(std::llround(std::max(0.0, value)));
                // A modelled count has seen all of its window.
                event.reading.time_enabled_ns = event.reading.time_running_ns = 1;
                event.pass = static_cast<int>(pass);
                event.group = group_number;
                events.push_back(std::move(event));
            }
            ++group_number;
        }
        return events;
    }

    ModelledCpu geometry_;
    Mapping mapping_;
    std::unique_ptr<core::Core> core_;
    std::unique_ptr<trace::Decoder> decoder_;
    std::string cpu_id_;
    ModelOptions options_;
    counters::Plan plan_;
    std::optional<Modelled> modelled_;
};

/// "cascadelakex, icelakex, ..." for a hint.
std::string covered_targets(const events::Library& library) {
    std::string names;
    const auto folders = events::targets(library);
    if (!folders) return names;
    for (const std::string& folder : *folders)
        if (events::read_data(library, folder + "/model.json")) names += (names.empty() ? "" : ", ") + folder;
    return names;
}

}  // namespace

Result<std::unique_ptr<counters::CounterSource>> make_model_source(const events::Library& library,
                                                                   const events::Table& target,
                                                                   const machine::Host& host,
                                                                   const ModelOptions& options) {
    auto geometry = load_modelled_cpu(library, target, options.machine);
    auto mapping = load_mapping(library, target);
    if (!geometry || !mapping) {
        const Error& error = geometry ? mapping.error() : geometry.error();
        if (error.code != ErrorCode::unavailable) return tl::unexpected<Error>(error);
        return fail(
            error.code, "the model does not cover " + target.folder,
            "covered: " + covered_targets(library) + "; tmaprobe list targets says whose core each is modelled as");
    }
    geometry->core.architecture = host.architecture;
    // What pages would be is asked, not what the host makes of them.
    if (!options.assume_pages.empty()) geometry->translation.large_page_walk = 0;
    const bool arm_target = target.format == events::PmuFormat::arm;
    if (arm_target != (host.architecture == "aarch64"))
        return fail(
            ErrorCode::unavailable, fmt::format("{} code cannot be modelled on {}", host.architecture, target.folder),
            "instructions are traced as they run: model an Arm CPU on an Arm machine, an x86 CPU on an x86 machine");
    auto core = TRY(core::make_core(geometry->core));
    auto decoder = TRY(core::make_decoder(host.architecture));
    return std::make_unique<ModelSource>(std::move(*geometry), std::move(*mapping), std::move(core), std::move(decoder),
                                         target.cpu_id, options);
}

}  // namespace tmaprobe::model
