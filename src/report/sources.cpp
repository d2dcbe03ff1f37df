#include "report/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/text.h"

namespace tmaprobe::report {

namespace {

/// Counters or a model that were asked, and from which no count and no metric came.
bool gave_nothing(const record::Record& record) {
    if (record.source.kind != "perf" && record.source.kind != "model") return false;
    for (const auto& run : record.runs) {
        for (const auto& metric : run.metrics)
            if (has_value(metric)) return false;
        for (const auto& event : run.events)
            if (event.pmu != "software" && event.pmu != "resctrl" && event.note.empty() && event.reading.time_running_ns > 0) return false;
    }
    return !record.runs.empty();
}

/// What a record of modelled counts says of its time.
std::string of_the_time(const record::Record& record) {
    const auto any = [&](auto of_one) { return std::any_of(record.runs.begin(), record.runs.end(), of_one); };
    if (!any([](const record::Run& run) { return run.time.known; })) return ".";
    const std::string host = host_text(record, "cpu_id");
    const std::string where = host.empty() || host == record.source.target ? "" : " on this machine's " + host;
    return "; time is measured" + where + (any([](const record::Run& run) { return run.time.tracing.has_value(); }) ? ", less what tracing added." : ".");
}

/// What a record without a source of counts has all the same.
std::string without_hardware(const record::Record& record) {
    bool timed = record.runs.empty(), software = false;
    for (const auto& run : record.runs) {
        timed |= run.time.known;
        for (const auto& event : run.events) software |= event.reading.time_running_ns > 0;
    }
    if (!timed && !software) return "NO VALUES: nothing was counted or timed.";
    const std::string counted = software ? "no hardware event was counted." : "nothing was counted.";
    return (timed ? "TIME ONLY: " : "SOFTWARE EVENTS ONLY: ") + counted;
}

std::string stopped(std::string text) {
    if (!text.empty() && text.back() != '.') text += '.';
    return text;
}

/// Metrics were wanted, and not one of them has a value.
bool lacks_all_values(const record::Record& record) {
    bool wanted = false;
    for (const auto& run : record.runs)
        for (const auto& metric : run.metrics) {
            if (has_value(metric)) return false;
            wanted = true;
        }
    return wanted;
}

}  // namespace

std::string source_word(const record::Record& record) {
    if (gave_nothing(record)) return "no values";
    if (record.source.kind == "perf") return "measured";
    if (record.source.kind == "model") return "modelled";
    if (record.source.kind == "replay") return "replayed";
    return "time only";
}

std::string host_text(const record::Record& record, const char* key) {
    const auto value = record.host.find(key);
    return value != record.host.end() && value->is_string() ? value->get<std::string>() : "";
}

std::string source_sentence(const record::Record& record) {
    const auto& source = record.source;
    const auto asked = record.extra.find("why_source");
    std::string why = asked != record.extra.end() && asked->is_string() ? " Why: " + stopped(asked->get<std::string>()) : "";
    if (!source.detail.empty() && why.find(source.detail) == std::string::npos)
        why += " " + capitalised(stopped(source.detail));
    const std::string target = source.target.empty() ? "" : " for " + source.target;
    if (gave_nothing(record) || lacks_all_values(record))
        return "NO VALUE could be had" + target + ": the reasons stand with each metric." + why;
    const std::string own = has_own_tree(record) ? " The tree is tmaprobe's own, and approximate: the vendor publishes none." : "";
    if (source.kind == "perf") return "MEASURED by this machine's counters, tables" + target + "." + own + why;
    if (source.kind == "replay") return "REPLAYED from recorded counts, tables" + target + "." + own + why;
    if (source.kind == "none") return without_hardware(record) + why;
    std::string text = "MODELLED" + target + ": the counts come from a simulation of the instructions that ran, not from counters" + of_the_time(record);
    if (has_own_tree(record)) text += " The tree is tmaprobe's own, of the model's slots, not the vendor's.";
    return text + why;
}

bool has_own_tree(const record::Record& record) {
    const auto table = record.extra.find("table");
    if (table == record.extra.end() || !table->is_object()) return false;
    const auto tree = table->find("tree");
    return tree != table->end() && tree->is_string() && tree->get_ref<const std::string&>() == "tmaprobe";
}

std::string host_sentence(const record::Record& record) {
    const std::string model = host_text(record, "cpu_model"), id = host_text(record, "cpu_id");
    std::string text = model.empty() ? id : model;
    if (text.empty()) return "not known";
    if (!model.empty() && !id.empty()) text += " (" + id + ")";
    const auto cpus = record.host.find("logical_cpus");
    if (cpus != record.host.end() && cpus->is_number_integer())
        text += fmt::format(", {} CPU{}", cpus->get<std::int64_t>(), cpus->get<std::int64_t>() == 1 ? "" : "s");
    if (const auto hypervisor = host_text(record, "hypervisor"); !hypervisor.empty()) text += ", " + hypervisor + " guest";
    if (const auto kernel = host_text(record, "kernel"); !kernel.empty()) text += ", Linux " + kernel;
    return text;
}

}  // namespace tmaprobe::report
