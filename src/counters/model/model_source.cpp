#include "counters/model/model_source.h"

#include <fmt/format.h>

#include <cmath>

#include "counters/model/core/decoder.h"
#include "counters/model/core/simulate.h"
#include "counters/model/geometry.h"
#include "counters/model/mapping.h"
#include "counters/model/simulation.h"

namespace tmaprobe::counters::model {
namespace {

class ModelSource final : public CounterSource {
  public:
    ModelSource(Geometry geometry, Mapping mapping, std::unique_ptr<core::Core> core, std::unique_ptr<Decoder> decoder,
                std::string cpu_id, Options options)
        : geometry_(std::move(geometry)), mapping_(std::move(mapping)), core_(std::move(core)), decoder_(std::move(decoder)),
          cpu_id_(std::move(cpu_id)), options_(std::move(options)) {}

    Result<> prepare(const Plan& plan) override {
        plan_ = plan;
        modelled_.reset();
        return {};
    }

    Result<Sample> measure(Workload& workload, Repetition repetition) override {
        // Every pass sees the same facts: the model has no counters to run out of.
        if (!modelled_ || repetition.pass == 0) {
            auto modelled = simulate_workload(workload, repetition.iterations, *core_, *decoder_, geometry_, options_);
            if (!modelled) return pass_on(modelled);
            modelled_ = std::move(*modelled);
        }
        return sample(repetition);
    }

    record::Source describe() const override {
        std::string detail = fmt::format("simulated with LLVM's {} scheduling data on the instructions that ran",
                                         geometry_.core.llvm_cpu);
        if (!geometry_.borrowed_model.empty()) detail += "; " + geometry_.borrowed_model;
        return {"model", cpu_id_, detail};
    }

  private:
    Sample sample(const Repetition& repetition) const {
        Sample sample;
        sample.iterations = repetition.iterations;
        sample.exit_status = modelled_->exit_status;
        sample.warnings = modelled_->warnings;
        sample.interrupted = modelled_->interrupted;
        if (modelled_->elapsed_ns > 0) {
            const Added& added = modelled_->added;
            sample.traced = TracedTime{static_cast<double>(modelled_->elapsed_ns), added.ns, added.low_ns, added.high_ns};
        }
        sample.elapsed_ns = !modelled_->windows.empty() ? static_cast<std::uint64_t>(value_of("cycles") / geometry_.frequency_hz * 1e9)
                                                        : modelled_->elapsed_ns;
        nlohmann::json missing = nlohmann::json::object();
        sample.events = events_of(modelled_->facts, repetition.pass, missing);
        for (const FactVariation& variation : modelled_->variations) {
            nlohmann::json ignored;
            sample.variations.push_back(events_of(for_as_many_instructions(variation.facts), repetition.pass, ignored));
        }
        const Modelled& m = *modelled_;
        sample.detail = {{"core_model", geometry_.core.llvm_cpu},
                         {"frequency_hz", geometry_.frequency_hz},
                         {"windows", m.windows.size()},
                         {"instructions", m.traced.steps},
                         {"warm_up_instructions", m.warmed},
                         {"simulated_instructions", m.simulated_instructions},
                         {"cycles", value_of("cycles")},
                         {"counted_instructions", value_of("instructions")},
                         {"stepped_in_software", m.traced.stepped_in_software},
                         {"undecodable", m.traced.undecodable},
                         {"unmodelled", value_of("unmodelled")},
                         {"further_tasks", m.further_tasks},
                         {"traced_by", m.translated ? "translation" : "single steps"},
                         {"tracing_ns", m.tracing_ns},
                         {"simulating_ns", m.simulating_ns},
                         // Traced code is a sample: its time on the target over the time that ran untraced.
                         {"coverage", m.native_ns + m.modelled_ns > 0 ? m.modelled_ns / (m.native_ns + m.modelled_ns) : 0.0},
                         {"facts", modelled_->facts}};
        for (const WindowSummary& window : m.windows)
            sample.detail["each_window"].push_back({{"cycles", window.cycles}, {"instructions", window.instructions}, {"native_ns", window.native_ns}});
        for (const FactVariation& variation : m.variations) {
            const auto of = [&](const char* fact) { return variation.facts.count(fact) ? variation.facts.find(fact)->second : 0.0; };
            sample.detail["variations"].push_back({{"what", variation.what}, {"cycles", of("cycles")}, {"instructions", of("instructions")}});
        }
        if (!missing.empty()) sample.detail["not_modelled"] = missing;
        return sample;
    }

    /// A variation may be of one window: as it would be of all instructions, so that sums are comparable too.
    Facts for_as_many_instructions(Facts facts) const {
        const auto own = facts.find("instructions");
        if (own == facts.end() || own->second <= 0) return facts;
        const double factor = value_of("instructions") / own->second;
        for (auto& [name, value] : facts) value *= factor;
        return facts;
    }

    double value_of(const char* fact) const {
        const auto found = modelled_->facts.find(fact);
        return found == modelled_->facts.end() ? 0 : found->second;
    }

    std::vector<record::Event> events_of(const Facts& facts, std::size_t pass, nlohmann::json& missing) const {
        std::vector<record::Event> events;
        if (pass >= plan_.passes.size() || facts.empty()) return events;
        int group_number = 0;
        for (const Group& group : plan_.passes[pass].groups) {
            for (const PlannedEvent& planned : group.events) {
                double value = 0;
                std::string why;
                if (!modelled_count(mapping_, planned, facts, value, why)) {
                    missing[planned.name] = why;
                    continue;
                }
                record::Event event;
                event.name = planned.name;
                event.pmu = planned.definition.pmu.empty() ? "cpu" : planned.definition.pmu;
                event.config = fmt::format("{:#x}", planned.definition.config);
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

    Geometry geometry_;
    Mapping mapping_;
    std::unique_ptr<core::Core> core_;
    std::unique_ptr<Decoder> decoder_;
    std::string cpu_id_;
    Options options_;
    Plan plan_;
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

Result<std::unique_ptr<CounterSource>> make_model_source(const events::Library& library, const events::Table& target,
                                                         const machine::Host& host, const Options& options) {
    auto geometry = load_geometry(library, target);
    auto mapping = load_mapping(library, target);
    if (!geometry || !mapping) {
        const Error& error = geometry ? mapping.error() : geometry.error();
        if (error.code != ErrorCode::unavailable) return tl::unexpected<Error>(error);
        return fail(error.code, "the model does not cover " + target.folder,
                    "covered: " + covered_targets(library) + "; tmaprobe list targets says whose core each is modelled as");
    }
    geometry->core.architecture = host.architecture;
    const bool arm_target = target.format == events::PmuFormat::arm;
    if (arm_target != (host.architecture == "aarch64"))
        return fail(ErrorCode::unavailable, fmt::format("{} code cannot be modelled on {}", host.architecture, target.folder),
                    "instructions are traced as they run: model an Arm CPU on an Arm machine, an x86 CPU on an x86 machine");
    auto core = core::make_core(geometry->core);
    if (!core) return pass_on(core);
    auto decoder = core::make_decoder(host.architecture);
    if (!decoder) return pass_on(decoder);
    return std::make_unique<ModelSource>(std::move(*geometry), std::move(*mapping), std::move(*core), std::move(*decoder),
                                         target.cpu_id, options);
}

}  // namespace tmaprobe::counters::model
