#include "report/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/json/writer.h"
#include "base/sizes.h"
#include "report/findings.h"
#include "report/numbers.h"
#include "report/series.h"
#include "report/sources.h"
#include "report/states.h"
#include "report/text.h"
#include "report/tree.h"
#include "report/view_writer.h"
#include "report/what_if.h"

namespace tmaprobe::report {
namespace {

using record::Record;
using record::Run;

/// What many metrics of a page share, said once: the first metric of each name.
using Definitions = std::map<std::string, const record::Metric*>;

void write_summary(ViewWriter& out, std::string_view key, const Summary& summary) {
    if (summary.count == 0) return out.null(key);
    out.object(key, [&] {
        for (const auto& [name, value] : {std::pair{"median", summary.median},
                                          {"min", summary.min},
                                          {"max", summary.max},
                                          {"mad", summary.mad},
                                          {"low", summary.low},
                                          {"high", summary.high}})
            out.number(name, value);
        out.count("count", summary.count);
    });
}

void write_time(ViewWriter& out, const record::Time& time) {
    out.object("time", [&] {
        out.flag("known", time.known);
        out.text("reason", time.reason);
        out.text("operation", time.operation.empty() ? "operation" : time.operation);
        write_summary(out, "ns", time.ns_per_op);
        write_summary(out, "rate", time.bytes_per_second);
        out.number("cyclesPerByte", time.cycles_per_byte > 0 ? time.cycles_per_byte : NAN);
        out.number("clean", time.clean);
        out.number("disturbed", time.disturbed);
    });
}

/// Each repetition's time, in the order in which they ran; those that were disturbed by number.
void write_repetitions(ViewWriter& out, const Run& run) {
    constexpr int drawn = 4;
    const auto& repetitions = run.extra.repetitions;
    out.each("repetitions", repetitions, [&](const record::TimedRepetition& one) { out.number(one.ns_per_op, drawn); });
    out.array("disturbed", [&] {
        for (std::size_t i = 0; i < repetitions.size(); ++i)
            if (!repetitions[i].clean) out.number(static_cast<double>(i));
    });
}

void write_metric(ViewWriter& out, const record::Metric& metric, int depth) {
    const bool shown = has_value(metric);
    out.object([&] {
        out.text("name", metric.name);
        out.number("depth", depth);
        out.number("value", shown ? metric.value : NAN);
        out.number("low", shown ? metric.low : NAN);
        out.number("high", shown ? metric.high : NAN);
        out.text("text", value_text(metric));
        out.text("bounds", bounds_text(metric));
        out.text("status", status_words(metric));
        if (metric.counted_share < 0.995) out.number("counted", metric.counted_share);
        if (metric.bottleneck) out.flag("bottleneck", true);
        if (!metric.reason.empty()) out.text("reason", metric.reason);
        if (!metric.warnings.empty()) out.texts("flags", metric.warnings);
    });
}

/// Metrics in the order of the tree, each with its depth; the page builds its charts from these rows.
void write_metrics(ViewWriter& out, const Run& run, Definitions& definitions) {
    std::vector<TreeRow> rows = tree_rows(run.metrics);
    for (const auto* metric : other_metrics(run.metrics)) rows.push_back({metric, 0});
    out.each("metrics", rows, [&](const TreeRow& row) {
        definitions.try_emplace(clean(row.metric->name), row.metric);
        write_metric(out, *row.metric, row.depth);
    });
}

/// Interval samples turned into one list per metric.
void write_intervals(ViewWriter& out, const Run& run) {
    const auto& series = run.extra.series;
    if (series.empty()) return out.null("intervals");
    std::map<std::string, std::vector<double>> lines;
    for (std::size_t index = 0; index < series.size(); ++index)
        for (const auto& [name, value] : series[index].metrics) {
            auto& line = lines[clean(name)];
            line.resize(index, NAN);
            line.push_back(value.value_or(NAN));
        }
    out.object("intervals", [&] {
        out.each("at", series, [&](const record::IntervalValues& interval) { out.number(interval.at_seconds); });
        out.object("lines", [&] {
            for (const auto& [name, line] : lines) out.each(name, line, [&](double value) { out.number(value); });
        });
    });
}

/// What an interference experiment says of the run.
void write_state(ViewWriter& out, const Run& run) {
    out.text("state", state_of(run));
    if (const auto change = against_alone(run))
        out.each("change", std::vector{change->value, change->low, change->high},
                 [&](double value) { out.number(value); });
    else
        out.null("change");
    out.each("monitors", monitors_of(run), [&](const Monitored& monitored) {
        out.object([&] {
            out.text("title", monitored.title);
            out.text("text", monitor_text(monitored));
            out.number("value", monitored.value);
        });
    });
    if (const auto& step = run.extra.allocation)
        out.object("allocation", [&] {
            out.text("control", name_of(step->control));
            out.number("value", step->value);
            out.text("unit", step->unit);
        });
    else
        out.null("allocation");
}

void write_beside(ViewWriter& out, const Run& run) {
    if (run.extra.beside.empty()) return out.null("beside");
    out.each("beside", run.extra.beside, [&](const record::Beside& item) {
        out.object([&] {
            out.text("name", item.name);
            out.number("value", item.value);
            out.number("low", item.low);
            out.number("high", item.high);
            out.text("status", name_of(item.status));
        });
    });
}

void write_what_if(ViewWriter& out, const Run& run) {
    if (!run.extra.what_if) return out.null("whatIf");
    out.object("whatIf", [&] {
        out.text("sentence", what_if_sentence(*run.extra.what_if));
        out.each("answers", run.extra.what_if->answers, [&](const record::WhatIfAnswer& answer) {
            out.object([&] {
                out.text("what", words_of(answer));
                out.number("value", answer.speed_up.value);
                out.number("low", answer.speed_up.low);
                out.number("high", answer.speed_up.high);
                out.text("then", bottleneck_words(answer.slots));
            });
        });
        out.each("mappings", run.extra.what_if->mappings, [&](const record::MappingPages& mapping) {
            out.object([&] {
                out.text("what", words_of(mapping));
                out.text("way", way_to_large_pages(mapping));
                out.number("waits", mapping.waits);
                out.number("value", mapping.speed_up.value);
                out.number("low", mapping.speed_up.low);
                out.number("high", mapping.speed_up.high);
            });
        });
    });
}

void write_run(ViewWriter& out, const Record& record, const Run& run, Definitions& definitions) {
    out.object([&] {
        out.text("label", run_label(run));
        out.text("pages", pages_label(run));
        out.text("obtained", obtained_text(run));
        out.text("effective", run.pages ? name_of(run.pages->effective) : "");
        write_state(out, run);
        write_time(out, run.time);
        write_repetitions(out, run);
        out.text("clock", clock_sentence(run));
        if (has_doubtful_model(run)) out.flag("doubtful", true);
        write_metrics(out, run, definitions);
        out.text("verdict", run.metrics.empty() ? "" : verdict(record, run));
        out.each("steps", next_steps(record, run), [&](const NextStep& step) {
            out.object([&] {
                out.text("what", step.what);
                out.text("command", step.command);
            });
        });
        write_beside(out, run);
        write_what_if(out, run);
        write_intervals(out, run);
    });
}

/// Points as columns: a page of hundreds of sweeps is mostly these.
void write_points(ViewWriter& out, const std::vector<PlottedPoint>& points) {
    constexpr int exact = 15, drawn = 4;
    out.object("points", [&] {
        out.each("x", points, [&](const PlottedPoint& point) { out.number(point.x, exact); });
        out.each("value", points, [&](const PlottedPoint& point) { out.number(point.value, drawn); });
        out.each("low", points, [&](const PlottedPoint& point) { out.number(point.low, drawn); });
        out.each("high", points, [&](const PlottedPoint& point) { out.number(point.high, drawn); });
        if (std::ranges::any_of(points, is_doubtful))
            out.each("doubtful", points, [&](const PlottedPoint& point) { out.number(is_doubtful(point) ? 1 : 0); });
    });
}

/// A translation metric along one curve: values at the curve's points, NaN where there is none.
struct Line {
    std::size_t series = 0;
    const record::Metric* first = nullptr;
    std::vector<double> values;
};

std::map<std::string, std::vector<Line>> metric_lines(const Curves& curves) {
    std::map<std::string, std::vector<Line>> lines;
    for (std::size_t index = 0; index < curves.series.size(); ++index) {
        const auto& points = curves.series[index].points;
        for (std::size_t i = 0; i < points.size(); ++i)
            for (const auto& metric : points[i].run->metrics) {
                if (metric.category != record::Category::tlb || !has_value(metric)) continue;
                if (is_bare_count(*points[i].run, metric)) continue;
                auto& of_metric = lines[clean(metric.name)];
                if (of_metric.empty() || of_metric.back().series != index)
                    of_metric.push_back({index, &metric, std::vector<double>(points.size(), NAN)});
                of_metric.back().values[i] = metric.value;
            }
    }
    return lines;
}

void write_curves(ViewWriter& out, const Record& record) {
    const Curves curves = curves_of(record);
    constexpr int drawn = 4;
    out.object("curves", [&] {
        out.text("axis", curves.axis);
        out.text("quantity", name_of(curves.quantity));
        out.each("series", curves.series, [&](const Series& one) {
            out.object([&] {
                out.text("label", one.label);
                write_points(out, one.points);
            });
        });
        out.object("metrics", [&] {
            for (const auto& [name, lines] : metric_lines(curves))
                out.each(name, lines, [&](const Line& line) {
                    out.object([&] {
                        out.count("series", line.series);
                        out.text("status", name_of(line.first->status));
                        out.flag("share", is_share(*line.first));
                        out.text("unit", name_of(line.first->unit));
                        out.each("values", line.values, [&](double value) { out.number(value, drawn); });
                    });
                });
        });
        out.each("knees", record.extra.knees, [&](const record::Knee& knee) {
            out.object([&] {
                out.text("kind", name_of(knee.kind));
                out.text("pages", name_of(knee.pages));
                out.number("x", static_cast<double>(knee.size_bytes));
                out.text("cause", knee.cause);
                out.text("text", knee_sentence(knee));
            });
        });
    });
}

void write_pairs(ViewWriter& out, const record::Pairs& pairs) {
    out.object("pairs", [&] {
        out.each("cpus", pairs.cpus, [&](int cpu) { out.number(cpu); });
        out.array("ns", [&] {
            for (const auto& row : pairs.ns)
                out.list(row, [&](const std::optional<double>& ns) { out.number(ns.value_or(NAN)); });
        });
        if (const auto& alone = pairs.alone)
            out.object("alone", [&] {
                out.number("cpu", alone->cpu);
                out.number("locked", alone->locked_ns);
                out.number("plain", alone->plain_ns);
            });
        out.each("classes", pairs.classes, [&](const record::PairClass& item) {
            out.object([&] {
                out.text("class", item.distance);
                out.count("pairs", item.pairs);
                out.number("median_ns", item.median_ns);
                out.number("min_ns", item.min_ns);
                out.number("max_ns", item.max_ns);
                out.number("coherency_ns", item.coherency_ns);
                out.number("coherency_cycles", item.coherency_cycles);
            });
        });
        out.object("cpi", [&] {
            out.each("shares", pairs.cpi.shares, [&](double share) { out.number(share); });
            out.object("by_class", [&] {
                for (const auto& [name, values] : pairs.cpi.by_class)
                    out.each(clean(name), values, [&](double value) { out.number(value); });
            });
        });
    });
}

void write_record(ViewWriter& out, const Record& record, Definitions& definitions) {
    auto said = record.extra.verdicts;
    for (auto& sentence : comparison_sentences(record)) said.push_back(std::move(sentence));
    const bool sweep = record.experiment == record::Experiment::sweep;
    const Run* first = record.runs.empty() ? nullptr : &record.runs.front();
    out.object([&] {
        out.text("command", record.command_line);
        out.text("experiment", name_of(record.experiment));
        out.text("started", record.started);
        out.text("version", record.tool.version);
        out.flag("partial", record.partial);
        out.text("word", source_word(record));
        out.text("status", source_status(record));
        out.text("source", source_sentence(record));
        out.text("victim", record.extra.victim);
        out.text("aggressor", record.extra.aggressor);
        out.text("host", host_sentence(record));
        out.text("hostName", record.host.name);
        out.text("cpu", record.host.cpu_model);
        out.each("warnings", record.warnings, [&](const record::Warning& warning) {
            out.object([&] {
                out.text("what", warning.what);
                out.text("hint", warning.hint);
            });
        });
        out.texts("sentences", said);
        out.flag("modes", differ_in_pages_only(record.runs));
        out.text("label", !first ? "" : sweep ? first->kernel + " " + first->variant : run_label(*first));
        out.array("runs", [&] {
            if (!sweep)
                for (const auto& run : record.runs) write_run(out, record, run, definitions);
        });
        if (sweep) write_curves(out, record);
        if (record.extra.pairs) write_pairs(out, *record.extra.pairs);
    });
}

void write_definitions(ViewWriter& out, const Definitions& definitions) {
    out.object("definitions", [&] {
        for (const auto& [name, metric] : definitions)
            out.object(name, [&, &metric = *metric] {
                out.number("level", metric.level);
                out.text("parent", metric.parent);
                out.text("category", name_of(metric.category));
                out.text("subcategory", metric.subcategory);
                out.text("of", share_of(metric));
                out.text("unit", name_of(metric.unit));
                out.text("description", metric.description);
                out.text("formula", metric.formula);
            });
    });
}

}  // namespace

std::string page_view(const Records& records) {
    json::Writer writer(json::Layout::script);
    ViewWriter out(writer);
    Definitions definitions;
    out.object([&] {
        out.text("version", TMAPROBE_VERSION);
        out.each("records", records, [&](const Record& record) { write_record(out, record, definitions); });
        write_definitions(out, definitions);
    });
    return writer.take();
}

}  // namespace tmaprobe::report
