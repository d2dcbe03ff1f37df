#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/sizes.h"
#include "report/findings.h"
#include "report/formats.h"
#include "report/numbers.h"
#include "report/series.h"
#include "report/sources.h"
#include "report/states.h"
#include "report/text.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using record::Record;
using record::Run;

/// Text that Markdown and the HTML inside it take as it is.
std::string safe(const std::string& text) {
    std::string escaped;
    for (const char c : clean(text)) {
        if (std::string("\\`*_{}[]()#+!|~<>&").find(c) != std::string::npos) {
            if (c == '<')
                escaped += "&lt;";
            else if (c == '>')
                escaped += "&gt;";
            else if (c == '&')
                escaped += "&amp;";
            else
                escaped += std::string("\\") + c;
        } else {
            escaped += c;
        }
    }
    return escaped;
}

/// Names in code style, where underscores need no escape; what could end that style stays plain text.
std::string code(const std::string& text) {
    const std::string plain = clean(text);
    return plain.find_first_of("`|<>") == std::string::npos ? "`" + plain + "`" : safe(text);
}

std::string row(const std::vector<std::string>& cells) {
    std::string line = "|";
    for (const auto& cell : cells) line += " " + cell + " |";
    return line + "\n";
}

std::string heading_row(const std::vector<std::string>& cells) {
    std::string line = row(cells) + "|";
    for (std::size_t i = 0; i < cells.size(); ++i) line += i ? " ---: |" : " --- |";
    return line + "\n";
}

std::string time_text(const Run& run) {
    const auto& time = run.time;
    if (!time.known) return "unavailable: " + safe(time.reason);
    std::string text =
        fmt::format("{} per {} (median of {}, {} to {}, MAD {})", format_ns(time.ns_per_op.median),
                    safe(time.operation.empty() ? "operation" : time.operation), time.ns_per_op.count,
                    format_ns(time.ns_per_op.min), format_ns(time.ns_per_op.max), format_ns(time.ns_per_op.mad));
    if (time.bytes_per_second.count) text += ", " + format_rate(time.bytes_per_second.median);
    if (time.cycles_per_byte > 0) text += ", " + plain_number(time.cycles_per_byte) + " cycles/byte";
    return text;
}

std::string metrics_table(const Run& run) {
    std::vector<TreeRow> rows = tree_rows(run.metrics);
    for (const auto* metric : other_metrics(run.metrics)) rows.push_back({metric, 0});
    if (rows.empty()) return {};
    std::string text = heading_row({"metric", "level", "value", "of", "low..high", "counted", "status"});
    for (const auto& entry : rows) {
        const auto& metric = *entry.metric;
        std::string indent;
        for (int i = 0; i < entry.depth; ++i) indent += "&emsp;";
        std::string name = indent + code(metric.name);
        if (metric.bottleneck) name = indent + "**" + code(metric.name) + " ◀**";
        std::string status = status_words(metric);
        if (!metric.reason.empty()) status += ": " + safe(metric.reason);
        for (const auto& flag : metric.warnings) status += ", " + safe(flag);
        text += row({name, metric.level ? std::to_string(metric.level) : "", safe(value_text(metric)), share_of(metric),
                     bounds_text(metric), has_value(metric) ? fmt::format("{:.0f}%", 100 * metric.counted_share) : "",
                     status});
    }
    return text + "\n";
}

std::string monitors_text(const Run& run) {
    std::string text;
    for (const auto& monitored : monitors_of(run))
        text += (text.empty() ? "" : ", ") + monitored.title + " " + monitor_text(monitored);
    return text;
}

std::string run_section(const Record& record, const Run& run) {
    std::string title = safe(run_label(run));
    if (const auto pages = pages_label(run); !pages.empty()) title += ", pages " + safe(pages);
    if (const auto state = state_of(run); !state.empty()) title = safe(state) + ": " + title;
    const std::string monitors = monitors_text(run);
    const std::string clock = clock_sentence(run);
    std::string text = "### " + title + "\n\nTime: " + time_text(run) + "\n\n" +
                       (clock.empty() ? "" : "Clock: " + safe(clock) + "\n\n") +
                       (monitors.empty() ? "" : "Memory: " + monitors + " (resctrl)\n\n") + metrics_table(run);
    if (!run.metrics.empty()) text += safe(verdict(record, run)) + "\n\n";
    for (const auto& step : next_steps(record, run))
        text += "- " + safe(step.what) + (step.command.empty() ? "" : " " + code(step.command)) + "\n";
    return text + "\n";
}

std::string curves_section(const Record& record) {
    const Curves curves = curves_of(record);
    std::vector<std::string> heads{curves.axis == "size_bytes" ? "size" : safe(curves.axis)};
    std::map<double, std::vector<std::string>> by_x;
    for (std::size_t s = 0; s < curves.series.size(); ++s) {
        heads.push_back(safe(curves.series[s].label));
        for (const auto& point : curves.series[s].points) {
            auto& cells = by_x[point.x];
            cells.resize(curves.series.size(), "-");
            cells[s] = quantity_text(curves, point.value);
        }
    }
    std::string text = heading_row(heads);
    for (const auto& [x, cells] : by_x) {
        std::vector<std::string> all{axis_text(curves, x)};
        all.insert(all.end(), cells.begin(), cells.end());
        text += row(all);
    }
    text += "\n";
    for (const auto& knee : record.extra.knees) text += "- knee " + safe(knee_sentence(knee)) + "\n";
    for (const auto& sentence : record.extra.verdicts) text += "- " + safe(sentence) + "\n";
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
    text += heading_row({"distance", "pairs", "median ns", "min", "max", "coherency ns", "cycles"});
    for (const auto& item : record.extra.pairs->classes)
        text += row({safe(item.distance), std::to_string(item.pairs), cell(item.median_ns), cell(item.min_ns),
                     cell(item.max_ns), cell(item.coherency_ns), cell(item.coherency_cycles)});
    return text + "\n";
}

/// The states of an interference record side by side.
std::string states_section(const Record& record) {
    if (record.experiment != record::Experiment::interference || record.runs.empty()) return {};
    std::vector<std::string> heads{"state", "ns/op", "min..max", "bytes/s", "against alone", "low..high"};
    for (const auto& monitored : monitors_of(record.runs.front())) heads.push_back(monitored.title);
    std::string text = heading_row(heads);
    for (const auto& run : record.runs) {
        const auto& ns = run.time.ns_per_op;
        const auto change = against_alone(run);
        std::vector<std::string> cells{
            safe(state_of(run)),
            run.time.known ? plain_number(ns.median) : "unavailable",
            run.time.known ? plain_number(ns.min) + ".." + plain_number(ns.max) : "-",
            run.time.bytes_per_second.count ? plain_number(run.time.bytes_per_second.median) : "-",
            change ? change_text(1 + change->value) : "-",
            change && std::isfinite(change->low) && std::isfinite(change->high)
                ? change_text(1 + change->low) + ".." + change_text(1 + change->high)
                : "-"};
        for (const auto& monitored : monitors_of(run)) cells.push_back(monitor_text(monitored));
        cells.resize(heads.size(), "-");
        text += row(cells);
    }
    text += "\n";
    for (const auto& sentence : record.extra.verdicts) text += "- " + safe(sentence) + "\n";
    return text + "\n";
}

std::string record_section(const Record& record) {
    std::string text =
        "## " + safe(record.command_line.empty() ? text_of(record.experiment) : record.command_line) + "\n\n";
    text += "**" + source_word(record) + "**: " + safe(source_sentence(record)) +
            "  \nHost: " + safe(host_sentence(record)) + "\n\n";
    if (record.partial) text += "Interrupted: this is what was measured until then.\n\n";
    if (record.experiment == record::Experiment::sweep) {
        text += curves_section(record);
    } else {
        text += classes_section(record) + states_section(record);
        for (const auto& run : record.runs) text += run_section(record, run);
    }
    for (const auto& sentence : comparison_sentences(record)) text += safe(sentence) + "\n\n";
    for (const auto& warning : record.warnings)
        text +=
            "> warning: " + safe(warning.what) + (warning.hint.empty() ? "" : " (" + safe(warning.hint) + ")") + "\n\n";
    return text;
}

/// One row per record: where, what, how long, and what bounds it.
std::string overview(const Records& records) {
    std::string text = heading_row({"record", "host", "started", "counts", "what", "time", "bound by"});
    for (std::size_t i = 0; i < records.size(); ++i) {
        const Record& record = records[i];
        const Run* run = record.runs.empty() ? nullptr : &record.runs.front();
        const std::string name = record.host.name;
        const auto* node = run ? bottleneck(run->metrics) : nullptr;
        text += row({std::to_string(i + 1), safe(name.empty() ? record.host.cpu_model : name), safe(record.started),
                     source_word(record), run ? safe(run_label(*run)) : "",
                     run && run->time.known ? format_ns(run->time.ns_per_op.median) : "-",
                     node ? code(node->name) + " " + percent(node->value) : "-"});
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
