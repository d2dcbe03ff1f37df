#include "report/sources.h"

#include <fmt/format.h>

#include "report/text.h"

namespace tmaprobe::report {

namespace {

std::string stopped(std::string text) {
    if (!text.empty() && text.back() != '.') text += '.';
    return text;
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
    if (source.kind == "perf") return "MEASURED by this machine's counters, tables" + target + "." + why;
    if (source.kind == "replay") return "REPLAYED from recorded counts, tables" + target + "." + why;
    if (source.kind == "none") return "TIME ONLY: nothing was counted." + why;
    const std::string host = host_text(record, "cpu_id");
    std::string text = "MODELLED" + target + ": the counts come from a simulation of the instructions that ran, not "
                       "from counters;";
    text += host.empty() || host == source.target ? " time is measured." : " time is measured on this machine's " + host + ".";
    return text + why;
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
