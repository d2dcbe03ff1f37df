#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "base/sizes.h"
#include "report/answer.h"
#include "report/findings.h"
#include "report/formats.h"
#include "report/markdown_text.h"
#include "report/numbers.h"
#include "report/regions.h"
#include "report/series.h"
#include "report/sources.h"
#include "report/states.h"
#include "report/text.h"
#include "report/tree.h"
#include "report/what_if.h"

namespace tmaprobe::report {
namespace {

using record::Record;
using record::Run;

std::string time_text(const Run& run) {
    const auto& time = run.time;
    if (!time.known) return "unavailable: " + markdown_text(time.reason);
    std::string text =
        fmt::format("{} per {} (median of {}, {} to {}, MAD {})", format_ns(time.ns_per_op.median),
                    markdown_text(time.operation.empty() ? "operation" : time.operation), time.ns_per_op.count,
                    format_ns(time.ns_per_op.min), format_ns(time.ns_per_op.max), format_ns(time.ns_per_op.mad));
    if (time.bytes_per_second.count) text += ", " + format_rate(time.bytes_per_second.median);
    if (time.cycles_per_byte > 0) text += ", " + plain_number(time.cycles_per_byte) + " cycles/byte";
    return text;
}

std::string metrics_table(const Run& run) {
    std::vector<TreeRow> rows = tree_rows(run.metrics);
    for (const auto* metric : other_metrics(run.metrics)) rows.push_back({metric, 0});
    if (rows.empty()) return {};
    std::string text = markdown_heading({"metric", "level", "value", "of", "low..high", "counted", "status"});
    for (const auto& entry : rows) {
        const auto& metric = *entry.metric;
        std::string indent;
        for (int i = 0; i < entry.depth; ++i) indent += "&emsp;";
        std::string name = indent + markdown_code(metric.name);
        if (metric.bottleneck) name = indent + "**" + markdown_code(metric.name) + " ◀**";
        std::string status = status_words(metric);
        if (!metric.reason.empty()) status += ": " + markdown_text(metric.reason);
        for (const auto& flag : metric.warnings) status += ", " + markdown_text(flag);
        text += markdown_row({name, metric.level ? std::to_string(metric.level) : "", markdown_text(value_text(metric)),
                              share_of(metric), bounds_text(metric),
                              has_value(metric) ? fmt::format("{:.0f}%", 100 * metric.counted_share) : "", status});
    }
    return text + "\n";
}

std::string what_if_section(const Run& run) {
    if (!run.extra.what_if) return {};
    std::string text = "What if: " + markdown_text(what_if_sentence(*run.extra.what_if)) + "\n\n" +
                       markdown_heading({"as fast if", "times", "low..high", "then bound by"});
    for (const auto& answer : run.extra.what_if->answers)
        text += markdown_row({markdown_text(words_of(answer)), times_text(answer.speed_up.value),
                              bounds_text(answer.speed_up), bottleneck_words(answer.slots)});
    if (!run.extra.what_if->mappings.empty())
        text += "\n" + markdown_heading({"in pages of 2 MiB, alone", "times", "low..high", "by"});
    for (const auto& mapping : run.extra.what_if->mappings)
        text += markdown_row({markdown_text(words_of(mapping)), times_text(mapping.speed_up.value),
                              bounds_text(mapping.speed_up), markdown_text(way_to_large_pages(mapping))});
    return text + "\n";
}

std::string monitors_text(const Run& run) {
    std::string text;
    for (const auto& monitored : monitors_of(run))
        text += (text.empty() ? "" : ", ") + monitored.title + " " + monitor_text(monitored);
    return text;
}

std::string run_section(const Record& record, const Run& run) {
    std::string title = markdown_text(run_label(run));
    if (const auto pages = pages_label(run); !pages.empty()) title += ", pages " + markdown_text(pages);
    if (const auto state = state_of(run); !state.empty()) title = markdown_text(state) + ": " + title;
    const std::string monitors = monitors_text(run);
    const std::string clock = clock_sentence(run);
    // What it is and the answer stand above, of one run; of page modes, the first's.
    const bool one = record.runs.size() == 1;
    const std::string said = one || run.metrics.empty() ? "" : markdown_text(verdict(record, run)) + "\n\n";
    std::string text = (one ? "" : "### " + title + "\n\n") + said + "Time: " + time_text(run) + "\n\n" +
                       (clock.empty() ? "" : "Clock: " + markdown_text(clock) + "\n\n") +
                       (monitors.empty() ? "" : "Memory: " + monitors + " (resctrl)\n\n") + what_if_section(run) +
                       metrics_table(run) + regions_markdown(run);
    for (const auto& step : next_steps(record, run))
        text +=
            "- " + markdown_text(step.what) + (step.command.empty() ? "" : " " + markdown_code(step.command)) + "\n";
    return text + "\n";
}

std::string curves_section(const Record& record) {
    const Curves curves = curves_of(record);
    std::vector<std::string> heads{curves.axis == "size_bytes" ? "size" : markdown_text(curves.axis)};
    std::map<double, std::vector<std::string>> by_x;
    for (std::size_t s = 0; s < curves.series.size(); ++s) {
        heads.push_back(markdown_text(curves.series[s].label));
        for (const auto& point : curves.series[s].points) {
            auto& cells = by_x[point.x];
            cells.resize(curves.series.size(), "-");
            cells[s] = quantity_text(curves, point.value);
        }
    }
    std::string text = markdown_heading(heads);
    for (const auto& [x, cells] : by_x) {
        std::vector<std::string> all{axis_text(curves, x)};
        all.insert(all.end(), cells.begin(), cells.end());
        text += markdown_row(all);
    }
    text += "\n";
    for (const auto& knee : record.extra.knees) text += "- knee " + markdown_text(knee_sentence(knee)) + "\n";
    return text + "\n";
}

std::string classes_section(const Record& record) {
    if (!record.extra.pairs || record.extra.pairs->classes.empty()) return {};
    const auto cell = [](const std::optional<double>& value) {
        return value ? plain_number(*value) : std::string("-");
    };
    std::string text;
    if (const auto& alone = record.extra.pairs->alone; alone && (alone->locked_ns || alone->plain_ns))
        text += fmt::format("One core: locked increment {} ns, without lock {} ns\n\n", cell(alone->locked_ns),
                            cell(alone->plain_ns));
    text += markdown_heading({"distance", "pairs", "median ns", "min", "max", "coherency ns", "cycles"});
    for (const auto& item : record.extra.pairs->classes)
        text +=
            markdown_row({markdown_text(item.distance), std::to_string(item.pairs), cell(item.median_ns),
                          cell(item.min_ns), cell(item.max_ns), cell(item.coherency_ns), cell(item.coherency_cycles)});
    return text + "\n";
}

/// The states of an interference record side by side.
std::string states_section(const Record& record) {
    if (record.experiment != record::Experiment::interference || record.runs.empty()) return {};
    std::vector<std::string> heads{"state", "ns/op", "min..max", "bytes/s", "against alone", "low..high"};
    for (const auto& monitored : monitors_of(record.runs.front())) heads.push_back(monitored.title);
    std::string text = markdown_heading(heads);
    for (const auto& run : record.runs) {
        const auto& ns = run.time.ns_per_op;
        const auto change = against_alone(run);
        std::vector<std::string> cells{
            markdown_text(state_of(run)),
            run.time.known ? plain_number(ns.median) : "unavailable",
            run.time.known ? plain_number(ns.min) + ".." + plain_number(ns.max) : "-",
            run.time.bytes_per_second.count ? plain_number(run.time.bytes_per_second.median) : "-",
            change ? change_text(1 + change->value) : "-",
            change && std::isfinite(change->low) && std::isfinite(change->high)
                ? change_text(1 + change->low) + ".." + change_text(1 + change->high)
                : "-"};
        for (const auto& monitored : monitors_of(run)) cells.push_back(monitor_text(monitored));
        cells.resize(heads.size(), "-");
        text += markdown_row(cells);
    }
    return text + "\n";
}

/// Page modes side by side: what differs or matters.
std::string modes_section(const Record& record) {
    std::vector<std::string> left_out;
    const auto rows = compared_rows(record.runs, &left_out);
    std::vector<std::string> heads{"pages"}, obtained{"obtained"};
    std::vector<std::string> time{"time per " + markdown_text(record.runs.front().time.operation)};
    std::vector<std::string> spread{"min to max"};
    for (const auto& run : record.runs) {
        const auto& ns = run.time.ns_per_op;
        heads.push_back(markdown_text(pages_label(run)));
        obtained.push_back(markdown_text(obtained_text(run)));
        time.push_back(run.time.known ? format_ns(ns.median) : "unavailable");
        spread.push_back(run.time.known ? format_ns(ns.min) + " to " + format_ns(ns.max) : "-");
    }
    std::string text = markdown_heading(heads) + markdown_row(obtained) + markdown_row(time) + markdown_row(spread);
    for (const auto& row : rows) {
        const std::string of = share_of(*row.metric);
        std::vector<std::string> cells{markdown_code(row.metric->name) + (of.empty() ? "" : ", % of " + of)};
        for (const auto& run : record.runs) {
            const auto* metric = find_metric(run, row.metric->name);
            cells.push_back(!metric               ? "-"
                            : !has_value(*metric) ? status_words(*metric)
                                                  : markdown_text(value_text(*metric)) + " " + status_words(*metric));
        }
        text += markdown_row(cells);
    }
    return text + "\n" +
           (left_out.empty() ? "" : fmt::format("0, or below 0.5% in all: {}\n\n", fmt::join(left_out, ", ")));
}

/// First what was measured and the answer, then the figures, then what should be known about them.
std::string record_section(const Record& record) {
    std::string text = "## " + markdown_text(subject_of(record)) + "\n\n";
    for (const auto& answer : answers(record)) text += "**" + markdown_text(answer) + "**\n\n";
    if (record.experiment == record::Experiment::sweep) {
        text += curves_section(record);
    } else {
        text += classes_section(record) + states_section(record);
        if (differ_in_pages_only(record.runs)) text += modes_section(record);
        for (const auto& run : record.runs) text += run_section(record, run);
    }
    for (const auto& warning : record.warnings)
        text += "> warning: " + markdown_text(warning.what) +
                (warning.hint.empty() ? "" : " (" + markdown_text(warning.hint) + ")") + "\n\n";
    text += "**" + source_word(record) + "**: " + markdown_text(source_sentence(record)) +
            "  \nHost: " + markdown_text(host_sentence(record));
    if (!record.command_line.empty()) text += "  \nCommand: " + markdown_code(record.command_line);
    return text + "\n\n";
}

/// One row per record: where, what, how long, and what bounds it.
std::string overview(const Records& records) {
    std::string text = markdown_heading({"record", "host", "started", "counts", "what", "time", "bound by"});
    for (std::size_t i = 0; i < records.size(); ++i) {
        const Record& record = records[i];
        const Run* run = record.runs.empty() ? nullptr : &record.runs.front();
        const std::string name = record.host.name;
        const auto* node = run ? bottleneck(run->metrics) : nullptr;
        text +=
            markdown_row({std::to_string(i + 1), markdown_text(name.empty() ? record.host.cpu_model : name),
                          markdown_text(record.started), source_word(record), run ? markdown_text(run_label(*run)) : "",
                          run && run->time.known ? format_ns(run->time.ns_per_op.median) : "-",
                          node ? markdown_code(node->name) + " " + percent(node->value) : "-"});
    }
    return text + "\n";
}

}  // namespace

std::string write_markdown(const Records& records) {
    std::string text = "# tmaprobe report\n\n";
    if (records.size() > 1) text += overview(records);
    for (const auto& record : records) text += record_section(record);
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
}

}  // namespace tmaprobe::report
