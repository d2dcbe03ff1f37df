#include "report/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sizes.h"
#include "report/numbers.h"
#include "report/text.h"

namespace tmaprobe::report {

namespace {

bool is_hardware_count(const record::Event& event) {
    return event.pmu != "software" && event.pmu != "resctrl" && event.note == record::Note::none &&
           event.reading.time_running_ns > 0;
}

/// Metrics were wanted and none has a value, or counters or a model were asked and not even a count came.
bool has_no_value(const record::Record& record) {
    bool wanted = false, counted = false;
    for (const auto& run : record.runs) {
        if (std::ranges::any_of(run.metrics, [](const auto& metric) { return has_value(metric); })) return false;
        wanted = wanted || !run.metrics.empty();
        counted = counted || std::ranges::any_of(run.events, is_hardware_count);
    }
    const bool asked =
        record.source.kind == record::SourceKind::perf || record.source.kind == record::SourceKind::model;
    return wanted || (asked && !counted && !record.runs.empty());
}

/// What a record of modelled counts says of its time.
std::string of_the_time(const record::Record& record) {
    const auto any = [&](auto of_one) { return std::any_of(record.runs.begin(), record.runs.end(), of_one); };
    if (!any([](const record::Run& run) { return run.time.known; })) return ".";
    const std::string host = record.host.cpu_id;
    const std::string where = host.empty() || host == record.source.target ? "" : " on this machine's " + host;
    return "; time is measured" + where +
           (any([](const record::Run& run) { return run.time.tracing.has_value(); }) ? ", less the stops for copies."
                                                                                     : ".");
}

/// What a record without a source of counts has all the same.
struct WithoutHardware {
    std::string status, reason;
};

WithoutHardware without_hardware(const record::Record& record) {
    bool timed = record.runs.empty(), software = false;
    for (const auto& run : record.runs) {
        timed |= run.time.known;
        for (const auto& event : run.events) software |= event.reading.time_running_ns > 0;
    }
    if (!timed && !software) return {"NO VALUES", "nothing was counted or timed"};
    return {timed ? "TIME ONLY" : "SOFTWARE EVENTS ONLY",
            software ? "no hardware event was counted" : "nothing was counted"};
}

/// Why the model is doubted: "DOUBTFUL by the clock"; empty: it is not.
std::string doubt(const record::Record& record) {
    if (std::ranges::any_of(record.runs, has_doubtful_clock)) return "DOUBTFUL by the clock";
    for (const record::Run& run : record.runs)
        if (is_modelled_elsewhere(run)) {
            const record::Sampling& sampling = *run.extra.model->sampling;
            return fmt::format("DOUBTFUL: of code that took {:.0f}% of its time",
                               100 * sampling.looks_met / sampling.looks);
        }
    return {};
}

std::string led_by(std::string_view before, const std::string& text, std::string_view after) {
    return text.empty() ? "" : fmt::format("{}{}{}", before, text, after);
}

bool has_warning(const record::Record& record, std::string_view id) {
    return std::ranges::any_of(record.warnings, [&](const auto& warning) { return warning.id == id; });
}

bool is_wrong_target(const record::Record& record) { return has_warning(record, "wrong_target"); }

/// Whose the modelled CPU is, where it was named, stands in for one that no table has, or is what features say.
std::string other_than_the_id(const record::Record& record) {
    if (record.host.cpu_id.empty() || record.source.target.empty() || record.host.cpu_id == record.source.target)
        return "";
    return has_warning(record, "id_contradicted") ? ", as this CPU's features say" : ", not this machine's CPU";
}

std::string stopped(std::string text) {
    if (!text.empty() && text.back() != '.') text += '.';
    return text;
}

}  // namespace

std::string source_word(const record::Record& record) {
    if (has_no_value(record)) return "no values";
    if (record.source.kind == record::SourceKind::perf) return "measured";
    if (record.source.kind == record::SourceKind::model) return "modelled";
    if (record.source.kind == record::SourceKind::replay) return "replayed";
    return "time only";
}

std::string source_status(const record::Record& record) {
    const auto& source = record.source;
    const std::string target = source.target.empty() ? "" : " for " + source.target;
    const std::string wrong = is_wrong_target(record) ? ", DOUBTFUL: rather another CPU's counts" : "";
    if (has_no_value(record)) return "NO VALUE" + target + wrong;
    const std::string own = has_own_tree(record) ? ", APPROXIMATE: tmaprobe's own tree" : "";
    switch (source.kind) {
        case record::SourceKind::perf:
            return "MEASURED" + own;
        case record::SourceKind::replay:
            return "REPLAYED" + target + own + wrong;
        case record::SourceKind::model:
            return "MODELLED" + target + other_than_the_id(record) + led_by(", ", doubt(record), "") +
                   (own.empty() ? "" : ", tmaprobe's own tree");
        case record::SourceKind::none:
            break;
    }
    return without_hardware(record).status;
}

std::string source_sentence(const record::Record& record) {
    const auto& source = record.source;
    std::string why = record.extra.why_source.empty() ? "" : " Why: " + stopped(record.extra.why_source);
    if (!source.detail.empty() && why.find(source.detail) == std::string::npos)
        why += " " + capitalised(stopped(source.detail));
    const std::string target = source.target.empty() ? "" : " for " + source.target;
    if (has_no_value(record)) return "NO VALUE could be had" + target + ": the reasons stand with each metric." + why;
    const std::string own =
        has_own_tree(record) ? " The tree is tmaprobe's own, and approximate: the vendor publishes none." : "";
    if (source.kind == record::SourceKind::perf)
        return "MEASURED by this machine's counters" +
               (record.extra.table || !target.empty() ? ", tables" + target : "") + "." + own + why;
    if (source.kind == record::SourceKind::replay)
        return "REPLAYED from recorded counts, tables" + target + "." + own + why;
    if (source.kind == record::SourceKind::none) {
        const WithoutHardware without = without_hardware(record);
        return without.status + ": " + without.reason + "." + why;
    }
    std::string text = "MODELLED" + target + ": " + led_by("", doubt(record), "; ") +
                       "the counts come from a simulation of the instructions that ran, not from counters" +
                       of_the_time(record);
    if (has_own_tree(record)) text += " The tree is tmaprobe's own, of the model's slots, not the vendor's.";
    return text + why;
}

bool has_doubtful_model(const record::Run& run) { return has_doubtful_clock(run) || is_modelled_elsewhere(run); }

bool is_modelled_elsewhere(const record::Run& run) {
    return run.extra.model && run.extra.model->sampling && run.extra.model->sampling->is_elsewhere();
}

bool has_doubtful_clock(const record::Run& run) {
    return run.extra.model && run.extra.model->clock_check &&
           run.extra.model->clock_check->verdict == record::ClockVerdict::doubtful;
}

std::string clock_sentence(const record::Run& run) {
    if (!run.extra.model || !run.extra.model->clock_check) return {};
    const auto& check = *run.extra.model->clock_check;
    if (check.measured_ns <= 0) return {};
    const std::string times =
        fmt::format("modelled {}, measured {}", format_ns(check.modelled_ns), format_ns(check.measured_ns));
    const std::string text = run.time.operation == "command"
                                 ? fmt::format("{} in its own code: ratio {:.2f} over all {:.0f} million instructions",
                                               times, check.ratio, check.instructions * 1e-6)
                                 : fmt::format("{} per {}: ratio {:.2f}", times, run.time.operation, check.ratio);
    switch (check.verdict) {
        case record::ClockVerdict::doubtful:
            return "DOUBTFUL: " + text;
        case record::ClockVerdict::not_judged:
            return "not judged: " + text;
        case record::ClockVerdict::agrees:
            break;
    }
    return text;
}

std::string host_sentence(const record::Record& record) {
    const std::string model = record.host.cpu_model, id = record.host.cpu_id;
    std::string text = model.empty() ? id : model;
    if (text.empty()) return "not known";
    if (!model.empty() && !id.empty()) text += " (" + id + ")";
    if (const int cpus = record.host.logical_cpus; cpus > 0)
        text += fmt::format(", {} CPU{}", cpus, cpus == 1 ? "" : "s");
    if (const auto hypervisor = record.host.hypervisor.value_or(""); !hypervisor.empty())
        text += ", " + hypervisor + " guest";
    if (const auto kernel = record.host.kernel; !kernel.empty()) text += ", Linux " + kernel;
    return text;
}

}  // namespace tmaprobe::report
