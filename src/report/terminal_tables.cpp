#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/sizes.h"
#include "report/answer.h"
#include "report/numbers.h"
#include "report/screen.h"
#include "report/states.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using record::Metric;
using record::Run;
using Rows = std::vector<std::vector<std::string>>;

std::string metric_cell(const Metric* metric, bool with_bounds, Footnotes& notes) {
    if (!metric) return "-";
    if (!has_value(*metric)) return status_words(*metric) + notes.mark(metric->reason);
    std::string text = value_text(*metric);
    if (metric->counted_share < 0.995) text += fmt::format(" @{:.0f}%", 100 * metric->counted_share);
    if (!metric->warnings.empty()) text += "!";
    return with_bounds ? text + " (" + bounds_text(*metric) + ")" : text;
}

std::string statuses(const Run& run) {
    std::string all;
    using record::Status;
    for (const Status status : {Status::measured, Status::modelled, Status::replayed, Status::approximate})
        if (std::any_of(run.metrics.begin(), run.metrics.end(),
                        [&](const Metric& metric) { return metric.status == status; }))
            all += (all.empty() ? "" : "+") + text_of(status);
    return all.empty() ? "time only" : all;
}

void add_time_rows(Screen& screen, const std::vector<Run>& runs, Rows& rows) {
    std::vector<std::string> time{
        "ns per " + screen.say(runs.front().time.operation.empty() ? "operation" : runs.front().time.operation)};
    std::vector<std::string> spread{"  min..max"}, rate{"bytes/s"};
    bool any_rate = false;
    for (const auto& run : runs) {
        const auto& ns = run.time.ns_per_op;
        time.push_back(run.time.known ? plain_number(ns.median) : "unavailable");
        spread.push_back(run.time.known ? plain_number(ns.min) + ".." + plain_number(ns.max) : "-");
        rate.push_back(run.time.bytes_per_second.count ? plain_number(run.time.bytes_per_second.median) : "-");
        any_rate |= run.time.bytes_per_second.count > 0;
    }
    rows.push_back(time);
    rows.push_back(spread);
    if (any_rate) rows.push_back(rate);
}

std::size_t width_of_rows(const Rows& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::size_t total = 0;
    for (const std::size_t width : widths) total += width + 2;
    return total;
}

Rows page_rows(Screen& screen, const std::vector<Run>& runs, const std::vector<TreeRow>& metrics, bool with_bounds,
               Footnotes& notes) {
    Rows rows{{"Pages"}, {"obtained"}};
    for (const auto& run : runs) {
        rows[0].push_back(screen.say(pages_label(run)));
        const std::string obtained = obtained_text(run);
        rows[1].push_back(screen.say(obtained.empty() ? "-" : obtained));
    }
    add_time_rows(screen, runs, rows);
    if (metrics.empty()) return rows;
    rows.push_back({"counts"});
    for (const auto& run : runs) rows.back().push_back(statuses(run));
    for (const auto& row : metrics) {
        const std::string mark = row.metric->bottleneck ? screen.either("▶ ", "> ") : "  ";
        const std::string of = share_of(*row.metric);
        rows.push_back({mark + std::string(static_cast<std::size_t>(2 * row.depth), ' ') +
                        screen.say(row.metric->name) + (of.empty() || of == "slots" ? "" : " (of " + of + ")")});
        for (const auto& run : runs)
            rows.back().push_back(metric_cell(find_metric(run, row.metric->name), with_bounds, notes));
    }
    return rows;
}

void show_matrix(Screen& screen, const record::Pairs& pairs) {
    const std::size_t fits = (screen.width() - 6) / 7;
    if (pairs.cpus.size() > fits) {
        screen.entry("",
                     fmt::format("The matrix of {0} x {0} CPUs does not fit here: --format html or csv shows it.",
                                 pairs.cpus.size()),
                     0);
        return;
    }
    Rows rows{{"ns"}};
    for (const int cpu : pairs.cpus) rows[0].push_back(std::to_string(cpu));
    for (std::size_t i = 0; i < pairs.cpus.size() && i < pairs.ns.size(); ++i) {
        rows.push_back({fmt::format("cpu {}", pairs.cpus[i])});
        for (const auto& ns : pairs.ns[i]) rows.back().push_back(ns ? fmt::format("{:.1f}", *ns) : "-");
    }
    screen.table(rows);
}

void show_classes(Screen& screen, const record::Pairs& pairs) {
    Rows rows{{"distance", "pairs", "median ns", "min..max", "coherency ns", "cycles"}};
    const auto cell = [](const std::optional<double>& value) {
        return value ? plain_number(*value) : std::string("-");
    };
    for (const auto& item : pairs.classes)
        rows.push_back({screen.say(item.distance), std::to_string(item.pairs), cell(item.median_ns),
                        cell(item.min_ns) + ".." + cell(item.max_ns), cell(item.coherency_ns),
                        cell(item.coherency_cycles)});
    screen.line();
    screen.table(rows);
}

void show_cpi(Screen& screen, const record::CoherencyCpi& cpi) {
    if (cpi.shares.empty()) return;
    Rows rows{{"CPI when this share of instructions meets it"}};
    for (const double share : cpi.shares) rows[0].push_back(percent(share));
    for (const auto& [name, values] : cpi.by_class) {
        rows.push_back({screen.say(name)});
        for (const double value : values) rows.back().push_back(fmt::format("{:.2f}", value));
    }
    screen.line();
    screen.table(rows);
}

/// What a lone thread takes, where that was measured.
void show_alone(Screen& screen, const record::Pairs& pairs) {
    if (!pairs.alone || (!pairs.alone->locked_ns && !pairs.alone->plain_ns)) return;
    const auto ns = [](const std::optional<double>& value) {
        return value ? plain_number(*value) + " ns" : std::string("not known");
    };
    screen.entry(
        "One core",
        fmt::format("locked increment {}, without lock {}", ns(pairs.alone->locked_ns), ns(pairs.alone->plain_ns)), 9);
}

}  // namespace

void show_page_modes(Screen& screen, const std::vector<Run>& runs) {
    Footnotes notes;
    std::vector<std::string> left_out;
    const auto metrics = compared_rows(runs, screen.style().verbose ? nullptr : &left_out);
    Rows rows = page_rows(screen, runs, metrics, true, notes);
    const bool bounds_fit = width_of_rows(rows) <= screen.width() + 2;
    if (!bounds_fit) rows = page_rows(screen, runs, metrics, false, notes);
    screen.line();
    screen.table(rows);
    show_left_out(screen, "0, or below 0.5% in all", left_out);
    notes.show(screen);
    const bool multiplexed = std::any_of(runs.begin(), runs.end(), [](const Run& run) {
        return std::any_of(run.metrics.begin(), run.metrics.end(),
                           [](const Metric& metric) { return metric.counted_share < 0.995; });
    });
    if (multiplexed) screen.line(screen.ink(Ink::dim, "@20%: counted 20% of the time"));
}

/// Second less first, in points where they are shares; empty when one has no value.
std::string difference_text(const Metric* first, const Metric& second) {
    if (!first || !std::isfinite(first->value) || !std::isfinite(second.value)) return "";
    const double difference = second.value - first->value;
    const bool share = first->unit == record::MetricUnit::slots || first->unit == record::MetricUnit::clocks;
    return share ? fmt::format("{:+.1f} points", 100 * difference) : fmt::format("{:+.3g}", difference);
}

void show_beside(Screen& screen, const Run& run) {
    if (run.extra.beside.empty()) return;
    Footnotes notes;
    Rows rows{{"Two sources", "first", "second", "difference", "second's low..high", "second is"}};
    for (const auto& item : run.extra.beside) {
        const Metric* first = find_metric(run, item.name);
        Metric second = first ? *first : Metric{};
        second.value = item.value;
        second.low = item.low;
        second.high = item.high;
        second.status = item.status;
        second.counted_share = 1;
        second.warnings.clear();
        rows.push_back({screen.say(item.name), metric_cell(first, false, notes), metric_cell(&second, false, notes),
                        difference_text(first, second), bounds_text(second), status_words(second)});
    }
    screen.line();
    screen.table(rows);
    notes.show(screen);
}

void show_pairs(Screen& screen, const record::Record& record) {
    const auto& pairs = record.extra.pairs;
    if (!pairs) {
        screen.line("No pair was measured.");
        return;
    }
    show_alone(screen, *pairs);
    screen.line();
    show_matrix(screen, *pairs);
    show_classes(screen, *pairs);
    show_cpi(screen, pairs->cpi);
}

namespace {

/// What the monitors of resctrl say of the victim in each state: a table of its own, for width.
void show_state_monitors(Screen& screen, const std::vector<Run>& runs, const std::vector<std::string>& states) {
    Rows rows{{"Monitored"}};
    for (const auto& monitored : monitors_of(runs.front())) rows[0].push_back(monitored.title);
    if (rows[0].size() == 1) return;
    for (std::size_t index = 0; index < runs.size(); ++index) {
        rows.push_back({states[index]});
        for (const auto& monitored : monitors_of(runs[index])) rows.back().push_back(monitor_text(monitored));
        rows.back().resize(rows[0].size(), "-");
    }
    screen.line();
    screen.table(rows);
}

std::string interval_text(const Change& change) {
    if (!std::isfinite(change.low) || !std::isfinite(change.high)) return "-";
    return fmt::format("{:+.1f}..{:+.1f}%", 100 * change.low, 100 * change.high);
}

}  // namespace

void show_monitors(Screen& screen, const Run& run) {
    std::string text;
    for (const auto& monitored : monitors_of(run))
        text += (text.empty() ? "" : ", ") + monitored.title + " " + monitor_text(monitored);
    if (!text.empty()) screen.entry("Memory", text + " (resctrl's monitors)");
}

void show_states_heading(Screen& screen, const record::Record& record) { screen.entry("Victim", subject_of(record)); }

void show_states(Screen& screen, const record::Record& record) {
    if (record.runs.empty()) return;
    screen.line();
    Rows rows{{"State", "ns/op", "min..max", "bytes/s", "change", "low..high"}};
    std::vector<std::string> states;
    for (const auto& run : record.runs) {
        const auto state = state_of(run);
        const auto change = against_alone(run);
        states.push_back(screen.say(state.empty() ? run_label(run) : state));
        rows.push_back(
            {states.back(), run.time.known ? plain_number(run.time.ns_per_op.median) : "unavailable",
             run.time.known ? plain_number(run.time.ns_per_op.min) + ".." + plain_number(run.time.ns_per_op.max) : "-",
             run.time.bytes_per_second.count ? plain_number(run.time.bytes_per_second.median) : "-",
             change ? fmt::format("{:+.1f}%", 100 * change->value) : "-", change ? interval_text(*change) : "-"});
    }
    screen.table(rows);
    show_state_monitors(screen, record.runs, states);
    std::vector<std::string> left_out;
    const auto metrics = compared_rows(record.runs, screen.style().verbose ? nullptr : &left_out);
    if (metrics.empty()) return;
    Footnotes notes;
    Rows tree{{"counts"}};
    for (const auto& run : record.runs) tree[0].push_back(statuses(run));
    for (const auto& row : metrics) {
        tree.push_back({std::string(static_cast<std::size_t>(2 * row.depth), ' ') + screen.say(row.metric->name)});
        for (const auto& run : record.runs)
            tree.back().push_back(metric_cell(find_metric(run, row.metric->name), false, notes));
    }
    screen.line();
    screen.table(tree);
    show_left_out(screen, "0, or below 0.5% in all", left_out);
    notes.show(screen);
}

}  // namespace tmaprobe::report
