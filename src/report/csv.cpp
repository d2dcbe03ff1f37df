#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "base/json/writer.h"
#include "report/csv_row.h"
#include "report/formats.h"
#include "report/numbers.h"
#include "report/sources.h"
#include "report/states.h"
#include "report/text.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using record::Record;
using record::Run;

constexpr const char* header =
    "record,run,started,experiment,host,cpu_id,cpu_model,source,target,kernel,variant,size_bytes,threads,pages,"
    "parameters,name,level,parent,category,subcategory,unit,value,low,high,status,reason,counted_share,"
    "over_threshold,bottleneck,warnings\n";

/// The parameters that have no column of their own, as JSON; empty where there are none.
std::string other_parameters(const Run& run, const std::string& region) {
    json::Writer writer;
    bool any = false;
    const auto add = [&](const char* name, const auto& value) {
        writer.member(name, value);
        any = true;
    };
    writer.begin_object();
    if (run.parameters.command) add("command", *run.parameters.command);
    if (!run.parameters.cpus.empty()) add("cpus", run.parameters.cpus);
    if (run.parameters.pid) add("pid", *run.parameters.pid);
    if (!run.parameters.pmu.empty()) add("pmu", run.parameters.pmu);
    if (run.extra.state) add("state", run.extra.state->name);
    if (!region.empty()) add("region", region);
    for (const auto& [name, value] : run.parameters.options) add(name.c_str(), value);
    writer.end_object();
    return any ? writer.take() : std::string();
}

/// The keys that all rows of one run share, as the start of each line.
/// `region`: of the run, whose rows these are; empty: of all of it.
std::string keys_of(const Record& record, std::size_t record_index, const Run& run, std::size_t run_index,
                    const std::string& region = {}) {
    const auto whole = [](CsvRow& row, const std::optional<std::uint64_t>& value) {
        value ? row.integer(static_cast<std::int64_t>(*value)) : row.empty();
    };
    CsvRow row;
    row.integer(static_cast<std::int64_t>(record_index)).integer(static_cast<std::int64_t>(run_index));
    row.text(record.started).text(text_of(record.experiment)).text(record.host.name);
    row.text(record.host.cpu_id).text(record.host.cpu_model);
    row.text(text_of(record.source.kind)).text(record.source.target).text(run.kernel).text(run.variant);
    whole(row, run.parameters.size_bytes);
    whole(row, run.parameters.threads);
    row.text(run.pages ? text_of(run.pages->requested) : "").text(other_parameters(run, region));
    return row.line() + ",";
}

std::string metric_row(const record::Metric& metric) {
    const bool shown = has_value(metric);
    CsvRow row;
    row.text(metric.name)
        .integer(metric.level)
        .text(metric.parent)
        .text(text_of(metric.category))
        .text(metric.subcategory);
    row.text(text_of(metric.unit)).number(shown ? metric.value : NAN).number(shown ? metric.low : NAN);
    row.number(shown ? metric.high : NAN).text(text_of(metric.status)).text(metric.reason).number(metric.counted_share);
    row.text(!metric.over_threshold ? "" : *metric.over_threshold ? "true" : "false");
    std::string flags;
    for (const auto& flag : metric.warnings) flags += (flags.empty() ? "" : ";") + flag;
    row.text(metric.bottleneck ? "true" : "false").text(flags);
    return row.line() + "\n";
}

/// A measured quantity that is no metric of a table, as a metric's row.
std::string quantity_row(const char* name, const char* category, const char* unit, const Summary& summary) {
    CsvRow row;
    row.text(name).integer(0).empty().text(category).empty().text(unit);
    row.number(summary.median).number(summary.low).number(summary.high).text("measured");
    return row.empty().number(1).empty().text("false").empty().line() + "\n";
}

/// Each region has rows as a run has, with its name among the parameters.
std::string region_rows_of(const Run& run,
                           const std::function<std::string(const std::string& region)>& keys_of_region) {
    std::string rows;
    if (!run.extra.regions) return rows;
    const auto share = [](const record::RegionCost& cost, const char* status) {
        CsvRow row;
        row.text("time_share").integer(0).empty().text("region").empty().text("ratio").number(cost.share);
        row.number(cost.low).number(cost.high).text(status).empty().number(1).empty();
        return row.text("false").empty().line() + "\n";
    };
    const auto total = [](const char* name, const char* unit, double value) {
        CsvRow row;
        row.text(name).integer(0).empty().text("region").empty().text(unit).number(value).empty().empty();
        return row.text("measured").empty().number(1).empty().text("false").empty().line() + "\n";
    };
    for (const record::Region& region : run.extra.regions->list) {
        const std::string keys = keys_of_region(region.name);
        if (region.totals) {
            rows += keys + total("time", "ns", region.totals->time_ns);
            rows += keys + total("entries", "count", static_cast<double>(region.totals->entries));
        }
        if (region.cost) rows += keys + share(*region.cost, region.cost->windows ? "modelled" : "measured");
        for (const auto& metric : region.metrics) rows += keys + metric_row(metric);
    }
    return rows;
}

std::string time_rows(const record::Time& time, const std::string& keys) {
    if (!time.known) {
        CsvRow row;
        row.text("ns_per_op").integer(0).empty().text("time").empty().text("ns").empty().empty().empty();
        row.text("unavailable").text(time.reason).number(1).empty();
        return keys + row.text("false").empty().line() + "\n";
    }
    std::string rows = keys + quantity_row("ns_per_op", "time", "ns", time.ns_per_op);
    if (time.bytes_per_second.count)
        rows += keys + quantity_row("bytes_per_second", "time", "bytes_per_second", time.bytes_per_second);
    if (time.cycles_per_op.count) rows += keys + quantity_row("cycles_per_op", "time", "cycles", time.cycles_per_op);
    return rows;
}

/// What resctrl's monitors say, and what a state costs against the victim alone.
std::string state_rows(const Run& run, const std::string& keys) {
    std::string rows;
    for (const auto& monitored : monitors_of(run)) {
        const bool counted = std::isfinite(monitored.value);
        CsvRow row;
        row.text(monitored.name)
            .integer(0)
            .empty()
            .text("resctrl")
            .empty()
            .text(monitored.unit)
            .number(monitored.value)
            .empty()
            .empty();
        row.text(counted ? "measured" : "not_counted").empty().number(counted ? 1 : 0).empty();
        rows += keys + row.text("false").empty().line() + "\n";
    }
    if (const auto change = against_alone(run)) {
        CsvRow row;
        row.text("against_alone").integer(0).empty().text("interference").empty().text("ratio").number(change->value);
        row.number(change->low).number(change->high).text("measured").empty().number(1).empty();
        rows += keys + row.text("false").empty().line() + "\n";
    }
    return rows;
}

/// One row per ordered pair of CPUs; "0->3" is what parent says.
std::string pair_rows(const Record& record, const std::string& keys) {
    std::string rows;
    if (!record.extra.pairs) return rows;
    const auto& cpus = record.extra.pairs->cpus;
    const auto& ns = record.extra.pairs->ns;
    for (std::size_t i = 0; i < cpus.size() && i < ns.size(); ++i)
        for (std::size_t j = 0; j < cpus.size() && j < ns[i].size(); ++j) {
            if (!ns[i][j]) continue;
            CsvRow row;
            row.text("pair_ns")
                .integer(0)
                .text(fmt::format("{}->{}", cpus[i], cpus[j]))
                .text("pairs")
                .empty()
                .text("ns");
            row.number(*ns[i][j]).empty().empty().text("measured").empty().number(1).empty();
            rows += keys + row.text("false").empty().line() + "\n";
        }
    return rows;
}

}  // namespace

std::string write_csv(const Records& records) {
    std::string text = header;
    for (std::size_t r = 0; r < records.size(); ++r) {
        const Record& record = records[r];
        for (std::size_t i = 0; i < record.runs.size(); ++i) {
            const Run& run = record.runs[i];
            const std::string keys = keys_of(record, r, run, i);
            text += time_rows(run.time, keys) + state_rows(run, keys);
            for (const auto& metric : run.metrics) text += keys + metric_row(metric);
            text += region_rows_of(run, [&](const std::string& region) { return keys_of(record, r, run, i, region); });
        }
        text += pair_rows(record, keys_of(record, r, record.runs.empty() ? Run{} : record.runs.front(), 0));
    }
    return text;
}

}  // namespace tmaprobe::report
