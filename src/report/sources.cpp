#include "report/sources.h"

#include <fmt/format.h>

#include "report/numbers.h"
#include "report/text.h"

namespace tmaprobe::report {

namespace {

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
    if (lacks_all_values(record))
        return "NO VALUE could be had" + target + ": the reasons stand with each metric." + why;
    if (source.kind == "perf") return "MEASURED by this machine's counters, tables" + target + "." + why;
    if (source.kind == "replay") return "REPLAYED from recorded counts, tables" + target + "." + why;
    if (source.kind == "none") return "TIME ONLY: nothing was counted." + why;
    const std::string host = host_text(record, "cpu_id");
    std::string text = "MODELLED" + target + ": the counts come from a simulation of the instructions that ran, not "
                       "from counters;";
    text += host.empty() || host == source.target ? " time is measured." : " time is measured on this machine's " + host + ".";
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
