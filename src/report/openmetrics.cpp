#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <map>
#include <string_view>

#include "base/json/writer.h"
#include "report/formats.h"
#include "report/numbers.h"
#include "report/sources.h"
#include "report/states.h"
#include "report/text.h"

namespace tmaprobe::report {
namespace {

using record::Metric;
using record::Record;
using record::Run;

/// What one family is called, counts in and means. Names and units are stable.
struct Family {
    const char* name;
    const char* unit;  ///< the name ends in it; empty: none
    const char* help;
};

constexpr Family families[] = {
    {"tmaprobe_slots_ratio", "ratio", "Share of pipeline slots of one node of the top-down tree"},
    {"tmaprobe_slots_low_ratio", "ratio", "Lower bound of tmaprobe_slots_ratio"},
    {"tmaprobe_slots_high_ratio", "ratio", "Upper bound of tmaprobe_slots_ratio"},
    {"tmaprobe_share_ratio", "ratio", "Share of cycles, operations or the parent node, as the label of says"},
    {"tmaprobe_share_low_ratio", "ratio", "Lower bound of tmaprobe_share_ratio"},
    {"tmaprobe_share_high_ratio", "ratio", "Upper bound of tmaprobe_share_ratio"},
    {"tmaprobe_metric_value", "", "Any other metric, in the unit that the label unit says"},
    {"tmaprobe_counted_ratio", "ratio", "Share of the time in which the metric's events were counted"},
    {"tmaprobe_available", "", "1 when the metric has a value, 0 when it is unavailable or was not counted"},
    {"tmaprobe_bottleneck", "", "1 for nodes on the path to the bottleneck"},
    {"tmaprobe_time_per_operation_seconds", "seconds", "Time of one operation over the repetitions"},
    {"tmaprobe_throughput_bytes_per_second", "bytes_per_second", "Bytes per second over the repetitions"},
    {"tmaprobe_cycles_per_byte", "", "Core cycles per byte"},
    {"tmaprobe_llc_occupancy_bytes", "bytes", "Share of the last-level cache that was held, by resctrl's monitor"},
    {"tmaprobe_memory_bytes_per_second", "bytes_per_second", "Moved to and from memory, by resctrl's monitors"},
    {"tmaprobe_against_alone_ratio", "ratio", "Change of time per operation against the victim alone"},
    {"tmaprobe_against_alone_low_ratio", "ratio", "Lower bound of tmaprobe_against_alone_ratio"},
    {"tmaprobe_against_alone_high_ratio", "ratio", "Upper bound of tmaprobe_against_alone_ratio"},
    {"tmaprobe_region_seconds", "seconds", "Time in a region of a command, of all its threads, by the clock"},
    {"tmaprobe_region_entries", "", "How often a region was begun"},
    {"tmaprobe_region_time_ratio", "ratio", "Share of the command's modelled time in a region"},
    {"tmaprobe_region_slots_ratio", "ratio", "Share of a region's pipeline slots of one node of its top-down tree"},
    {"tmaprobe_pair_seconds", "seconds", "Time of one locked increment bounced between two CPUs"},
    {"tmaprobe_repetitions", "",
     "Repetitions of the timing, clean or disturbed by other work as the label judgement says"},
    {"tmaprobe_doubtful", "", "1 where the clock, or where the command spent its time, doubts the model"},
    {"tmaprobe_warnings", "", "Warnings of the record by their id"},
    {"tmaprobe_host", "", "Always 1: what was measured where, as labels"},
    {"tmaprobe_record_started_seconds", "seconds", "When the measurement started, in Unix time"},
};

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string label_value(const std::string& text) {
    std::string escaped;
    for (const char c : clean(text)) {
        if (c == '\\' || c == '"') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

std::string labels_text(const Labels& labels) {
    std::string text;
    for (const auto& [name, value] : labels)
        if (!value.empty()) text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, label_value(value));
    return text.empty() ? "" : "{" + text + "}";
}

/// Samples by family and labels: a later one with the same labels takes the place of an earlier.
class Samples {
  public:
    void add(const char* family, const Labels& labels, double value) {
        add_labelled(family, labels_text(labels), value);
    }
    /// For samples of several families with the same labels, which are then put together only once.
    void add_labelled(const char* family, std::string labels, double value) {
        if (std::isfinite(value)) values_[family].insert_or_assign(std::move(labels), value);
    }
    std::string text() const {
        std::string text;
        for (const auto& family : families) {
            const auto samples = values_.find(family.name);
            if (samples == values_.end()) continue;
            text += fmt::format("# TYPE {} gauge\n", family.name);
            if (*family.unit) text += fmt::format("# UNIT {} {}\n", family.name, family.unit);
            text += fmt::format("# HELP {} {}.\n", family.name, family.help);
            for (const auto& [labels, value] : samples->second)
                fmt::format_to(std::back_inserter(text), "{}{} {}\n", family.name, labels, value);
        }
        return text + "# EOF\n";
    }

  private:
    std::map<std::string_view, std::map<std::string, double>> values_;
};

/// Labels that all samples of a run have: host, kernel and what was varied. What was modelled or counted has its source
/// and target too; the time is this machine's, whatever its counts are of.
Labels run_labels(const Record& record, const Run& run) {
    std::string options, size, threads;
    // What follows from the others, and a process id, would make a new series of what is the same.
    auto values = record::asked_values(run.parameters);
    values.erase("pid");
    if (run.parameters.command) {
        json::Writer command;
        command.value(*run.parameters.command);
        values["command"] = command.take();
    }
    for (const auto& [name, value] : values) {
        if (name == "size_bytes")
            size = value;
        else if (name == "threads")
            threads = value;
        else
            options += (options.empty() ? "" : ",") + name + "=" + value;
    }
    return {{"host", record.host.name}, {"kernel", run.kernel},
            {"variant", run.variant},   {"pages", run.pages ? text_of(run.pages->requested) : ""},
            {"size_bytes", size},       {"threads", threads},
            {"options", options},       {"state", state_of(run)}};
}

/// What is said of a record as a whole: by what it is of, not by all that was varied in it.
Labels record_labels(const Record& record) {
    const Run* first = record.runs.empty() ? nullptr : &record.runs.front();
    return {{"host", record.host.name},
            {"experiment", text_of(record.experiment)},
            {"kernel", first ? first->kernel : ""},
            {"variant", first ? first->variant : ""},
            {"source", text_of(record.source.kind)},
            {"target", record.source.target}};
}

Labels with(Labels labels, const Labels& more) {
    labels.insert(labels.begin(), more.begin(), more.end());
    return labels;
}

void add_metric(Samples& samples, const Metric& metric, const Labels& common) {
    const Labels labels = with(common, {{"level", std::to_string(metric.level)},
                                        {"node", metric.name},
                                        {"parent", metric.parent},
                                        {"category", text_of(metric.category)}});
    const Labels with_status = with(labels, {{"status", text_of(metric.status)}});
    const std::string all = labels_text(with_status);
    samples.add_labelled("tmaprobe_available", all, has_value(metric) ? 1 : 0);
    if (!has_value(metric)) return;
    samples.add_labelled("tmaprobe_counted_ratio", all, metric.counted_share);
    if (metric.level > 0) samples.add("tmaprobe_bottleneck", labels, metric.bottleneck ? 1 : 0);
    if (metric.unit == record::MetricUnit::slots) {
        samples.add_labelled("tmaprobe_slots_ratio", all, metric.value);
        samples.add_labelled("tmaprobe_slots_low_ratio", all, metric.low);
        samples.add_labelled("tmaprobe_slots_high_ratio", all, metric.high);
    } else if (is_share(metric)) {
        const std::string of = labels_text(with(with_status, {{"of", share_of(metric)}}));
        samples.add_labelled("tmaprobe_share_ratio", of, metric.value);
        samples.add_labelled("tmaprobe_share_low_ratio", of, metric.low);
        samples.add_labelled("tmaprobe_share_high_ratio", of, metric.high);
    } else {
        samples.add("tmaprobe_metric_value", with(with_status, {{"unit", text_of(metric.unit)}}), metric.value);
    }
}

void add_state(Samples& samples, const Run& run, const Labels& labels) {
    for (const auto& monitored : monitors_of(run)) {
        if (monitored.unit == "bytes")
            samples.add("tmaprobe_llc_occupancy_bytes", labels, monitored.value);
        else
            samples.add("tmaprobe_memory_bytes_per_second", with(labels, {{"monitor", monitored.name}}),
                        monitored.value);
    }
    if (const auto change = against_alone(run)) {
        samples.add("tmaprobe_against_alone_ratio", labels, change->value);
        samples.add("tmaprobe_against_alone_low_ratio", labels, change->low);
        samples.add("tmaprobe_against_alone_high_ratio", labels, change->high);
    }
}

void add_regions(Samples& samples, const Run& run, const Labels& counted) {
    if (!run.extra.regions) return;
    for (const record::Region& region : run.extra.regions->list) {
        const Labels labels = with(counted, {{"region", region.name}});
        if (region.totals) {
            samples.add("tmaprobe_region_seconds", labels, region.totals->time_ns * 1e-9);
            samples.add("tmaprobe_region_entries", labels, static_cast<double>(region.totals->entries));
        }
        if (region.cost) samples.add("tmaprobe_region_time_ratio", labels, region.cost->share);
        for (const Metric& metric : region.metrics)
            if (has_value(metric) && metric.unit == record::MetricUnit::slots)
                samples.add("tmaprobe_region_slots_ratio",
                            with(labels, {{"level", std::to_string(metric.level)},
                                          {"node", metric.name},
                                          {"parent", metric.parent},
                                          {"category", text_of(metric.category)}}),
                            metric.value);
    }
}

void add_summary(Samples& samples, const char* family, const Summary& summary, double scale, const Labels& labels) {
    if (summary.count == 0) return;
    samples.add(family, with(labels, {{"statistic", "median"}}), summary.median * scale);
    samples.add(family, with(labels, {{"statistic", "min"}}), summary.min * scale);
    samples.add(family, with(labels, {{"statistic", "max"}}), summary.max * scale);
    samples.add(family, with(labels, {{"statistic", "mad"}}), summary.mad * scale);
}

void add_pairs(Samples& samples, const Record& record) {
    if (!record.extra.pairs) return;
    const auto& cpus = record.extra.pairs->cpus;
    const auto& ns = record.extra.pairs->ns;
    for (std::size_t i = 0; i < cpus.size() && i < ns.size(); ++i)
        for (std::size_t j = 0; j < cpus.size() && j < ns[i].size(); ++j)
            if (ns[i][j])
                samples.add(
                    "tmaprobe_pair_seconds",
                    {{"host", record.host.name}, {"from", std::to_string(cpus[i])}, {"to", std::to_string(cpus[j])}},
                    *ns[i][j] * 1e-9);
}

/// Unix time of an ISO 8601 time in UTC; NaN when it is none.
double unix_time(const std::string& text) {
    std::tm parts{};
    if (!::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts)) return NAN;
    return static_cast<double>(::timegm(&parts));
}

void add_record(Samples& samples, const Record& record) {
    const std::string host = record.host.name;
    for (const auto& run : record.runs) {
        const Labels labels = run_labels(record, run);
        const Labels timed = with(labels, {{"operation", run.time.operation}});
        add_summary(samples, "tmaprobe_time_per_operation_seconds", run.time.ns_per_op, 1e-9, timed);
        add_summary(samples, "tmaprobe_throughput_bytes_per_second", run.time.bytes_per_second, 1, labels);
        if (run.time.cycles_per_byte > 0) samples.add("tmaprobe_cycles_per_byte", labels, run.time.cycles_per_byte);
        add_state(samples, run, labels);
        if (run.time.clean + run.time.disturbed > 0)
            for (const auto& [judgement, count] :
                 {std::pair{"clean", run.time.clean}, {"disturbed", run.time.disturbed}})
                samples.add("tmaprobe_repetitions", with(labels, {{"judgement", judgement}}), count);
        const Labels counted =
            with(labels, {{"source", text_of(record.source.kind)}, {"target", record.source.target}});
        if (run.extra.model) samples.add("tmaprobe_doubtful", counted, has_doubtful_model(run) ? 1 : 0);
        for (const auto& metric : run.metrics) add_metric(samples, metric, counted);
        add_regions(samples, run, counted);
    }
    add_pairs(samples, record);
    std::map<std::string, int> warnings;
    for (const auto& warning : record.warnings) ++warnings[warning.id];
    const Labels whole = record_labels(record);
    for (const auto& [id, count] : warnings) samples.add("tmaprobe_warnings", with(whole, {{"id", id}}), count);
    samples.add("tmaprobe_host",
                {{"host", host},
                 {"cpu_id", record.host.cpu_id},
                 {"cpu_model", record.host.cpu_model},
                 {"release", record.host.kernel},
                 {"hypervisor", record.host.hypervisor.value_or("")},
                 {"experiment", text_of(record.experiment)},
                 {"source", text_of(record.source.kind)},
                 {"target", record.source.target},
                 {"version", record.tool.version}},
                1);
    samples.add("tmaprobe_record_started_seconds", whole, unix_time(record.started));
}

}  // namespace

std::string write_openmetrics(const Records& records) {
    std::vector<const Record*> by_age;
    for (const auto& record : records) by_age.push_back(&record);
    std::stable_sort(by_age.begin(), by_age.end(),
                     [](const Record* left, const Record* right) { return left->started < right->started; });
    Samples samples;
    for (const auto* record : by_age) add_record(samples, *record);
    return samples.text();
}

}  // namespace tmaprobe::report
