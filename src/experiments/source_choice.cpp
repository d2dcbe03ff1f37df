#include "experiments/source_choice.h"
#include "trace/traced_process.h"

#include "counters/perf/perf.h"
#include "counters/perf/session.h"
#include "experiments/allocated_blocks.h"
#include "experiments/regions.h"
#include "experiments/setup.h"
#include "judge/assessor.h"
#include "model/model.h"
#include "timing/canary.h"

namespace tmaprobe::experiments {
namespace {

constexpr const char* no_model =
    "this build has no model: LLVM 19 was missing when it was configured (third_party/setup.sh installs it)";

Result<Decision> automatic(const CountingRequest& request, const machine::Host& host, bool target_is_host) {
    if (target_is_host && host.pmu.counts) {
        if (request.needs_model() && model::built())
            return Decision{{SourceChoice::perf, SourceChoice::model},
                            "this machine's PMU counts; which code takes the slots, the model says",
                            {}};
        Decision counted{{SourceChoice::perf}, "this machine's PMU counts", {}};
        if (model::built()) counted.instead = SourceChoice::model;
        return counted;
    }
    const std::string why = target_is_host ? "no counters here: " + host.pmu.reason
                                           : "the target is not this machine's CPU, so its counters cannot be asked";
    const bool can_model = request.scope.kind == counters::Scope::Kind::this_thread ||
                           request.scope.kind == counters::Scope::Kind::command ||
                           request.scope.kind == counters::Scope::Kind::process;
    if (!model::built()) return Decision{{SourceChoice::none}, why + "; " + no_model, host.pmu.hint};
    if (const std::string option = request.counting_option(); !option.empty())
        return Decision{
            {SourceChoice::none}, why + "; " + option + " is for counters, and the model has none", host.pmu.hint};
    if (!can_model)
        return Decision{{SourceChoice::none}, why + "; whatever runs on a CPU cannot be modelled", host.pmu.hint};
    // A kernel may lose its tree on the way; a command is run once, so this has to be known before.
    if (request.scope.kind == counters::Scope::Kind::command)
        if (const auto tracing = trace::check_tracing(); !tracing)
            return Decision{
                {SourceChoice::none}, why + "; no model either: " + tracing.error().what, tracing.error().hint};
    return Decision{{SourceChoice::model}, why, target_is_host ? host.pmu.hint : ""};
}

}  // namespace

std::string CountingRequest::counting_option() const {
    if (detail.delay_ms) return "--delay";
    if (!detail.control.empty()) return "--control";
    if (detail.apart) return "--per-thread";
    if (!detail.inherit) return "--no-inherit";
    if (!detail.threads.empty()) return "--tid";
    return {};
}

Result<Decision> decide_source(const CountingRequest& request, const machine::Host& host, bool target_is_host) {
    const bool wants_perf = request.source == SourceChoice::perf || request.source == SourceChoice::perf_and_model;
    const bool wants_model = request.source == SourceChoice::model || request.source == SourceChoice::perf_and_model;
    if (!request.regions.functions.empty() && !wants_model && request.source != SourceChoice::automatic)
        return fail(ErrorCode::bad_usage,
                    "--region takes a function as a region by what is executed, which only the model sees",
                    "leave --source out, or use --source model; marks (docs/regions.md) are counted");
    if (wants_perf && !target_is_host)
        return fail(ErrorCode::bad_usage, "--source perf counts on this machine's CPU, which is not the target",
                    "leave --target out, or use --source model");
    if (wants_perf && !host.pmu.counts)
        return fail(
            ErrorCode::unavailable, "no hardware counters: " + host.pmu.reason,
            host.pmu.hint.empty() ? "tmaprobe doctor says more; --source model needs no counters" : host.pmu.hint);
    if (wants_model && !model::built()) return fail(ErrorCode::unavailable, no_model);
    if (const std::string option = request.counting_option(); wants_model && !option.empty())
        return fail(ErrorCode::bad_usage, option + " says what is counted and when, which the model does not follow",
                    "leave --source out: what the kernel itself counts needs no PMU");

    switch (request.source) {
        case SourceChoice::perf:
            return Decision{{SourceChoice::perf}, "asked for", {}, true};
        case SourceChoice::model:
            return Decision{{SourceChoice::model}, "asked for", {}, true};
        case SourceChoice::none:
            return Decision{{SourceChoice::none}, "asked for: time alone", {}, true};
        case SourceChoice::perf_and_model:
            return Decision{{SourceChoice::perf, SourceChoice::model}, "asked for: counted beside modelled", {}, true};
        case SourceChoice::automatic:
            break;
    }
    auto decision = automatic(request, host, target_is_host);
    if (decision) decision->tree_is_optional = request.target.empty();
    return decision;
}

namespace {

/// What is told of an interval: the metrics of what was counted in it. Of a hybrid, its first PMU's tree.
std::function<void(const counters::Interval&)> interval_by_interval(const CountingRequest& request,
                                                                    const Setup& setup) {
    if (!request.on_interval || !setup.table) return {};
    judge::AssessRequest assessment;
    assessment.metrics = setup.metrics;
    assessment.constants = setup.constants;
    const auto assessor = std::make_shared<judge::Assessor>(*setup.table, std::move(assessment));
    return [assessor, tell = request.on_interval](const counters::Interval& interval) {
        const auto metrics = assessor->values(interval.events);
        tell(static_cast<double>(interval.start_ns + interval.duration_ns) * 1e-9,
             metrics ? **metrics : std::vector<record::Metric>{}, interval.events);
    };
}

}  // namespace

Result<std::unique_ptr<counters::CounterSource>> make_source(SourceChoice choice, const CountingRequest& request,
                                                             const Setup& setup) {
    switch (choice) {
        case SourceChoice::perf:
            return counters::perf::make_source(
                request.scope, {request.interval_ms, true, interval_by_interval(request, setup), request.seconds,
                                request.detail, TRY(region_wish(request)).marks, setup.pmu_limits});
        case SourceChoice::model: {
            model::ModelOptions options;
            options.assume_pages = request.assume_pages;
            options.effort = request.effort;
            options.attribute = request.attribute;
            options.attribute_in = request.attribute_in;
            options.repeatable = request.repeatable;
            options.allocator_functions = allocator_functions;
            options.seconds = request.seconds;
            if (request.scope.kind == counters::Scope::Kind::process)
                options.processes = counters::perf::pids_of(request.scope, request.detail);
            // Who did not ask for the model wants no program's loading simulated at many times its length: what
            // ends this soon has done little else.
            constexpr int loading_ms = 2;
            if (request.source == SourceChoice::automatic && !request.needs_model())
                options.command_alone_ms = loading_ms;
            options.machine = setup.machine;
            options.trace = {request.save_trace, request.trace_workload, setup.host.cpu_id, setup.host.architecture};
            options.regions = TRY(region_wish(request));
            // Under an emulator no clock means anything.
            if (setup.target_is_host && !setup.host.is_emulated)
                options.core_clock_hz = [limits = timing::canary_limits(setup.host)] {
                    const auto reading = timing::read_canary();
                    const bool shared = reading.ipc < limits.least_share * limits.expected_ipc;
                    return shared ? 0 : reading.clock_hz;
                };
            return model::make_source(request.library, *setup.table, setup.host, options);
        }
        default:
            return counters::make_clock_source();
    }
}

}  // namespace tmaprobe::experiments
