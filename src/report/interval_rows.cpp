#include "report/interval_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json/writer.h"
#include "report/csv_row.h"
#include "report/numbers.h"
#include "report/text.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

/// An event's count in an interval; nothing where it was not counted.
bool was_counted(const record::Event& event) {
    return event.note == record::Note::none && event.reading.time_running_ns > 0 && std::isfinite(event.reading.value);
}

/// By its spelling, or on a PMU of a hybrid: "cpu_core/instructions/".
bool is_wanted(const std::string& name, const std::vector<std::string>& wanted) {
    return std::ranges::any_of(wanted, [&](const std::string& spelling) {
        return name == spelling || name.find("/" + spelling + "/") != name.npos;
    });
}

}  // namespace

std::string IntervalRows::row(double at_seconds, const std::vector<record::Metric>& metrics,
                              const std::vector<record::Event>& events, const std::vector<std::string>& wanted) {
    std::vector<Cell> cells;
    const auto add = [&](const record::Metric& metric) {
        const bool known = has_value(metric);
        cells.push_back({clean(metric.name, !style_.unicode), known ? value_text(metric) : "-", text_of(metric.unit),
                         text_of(metric.status), known ? metric.value : 0, known});
    };
    for (const auto& row : tree_rows(metrics)) add(*row.metric);
    for (const auto* metric : other_metrics(metrics)) add(*metric);
    for (const auto& event : events) {
        if (!metrics.empty() && !is_wanted(event.name, wanted)) continue;
        const bool known = was_counted(event);
        cells.push_back({clean(event.name, !style_.unicode), known ? plain_number(event.reading.value) : "-", "count",
                         known ? "measured" : "not counted", known ? event.reading.value : 0, known});
    }
    if (form_ == RowForm::table) return table_row(at_seconds, cells);
    std::string text;
    if (form_ == RowForm::csv) {
        if (rows_++ == 0) text = "at_seconds,name,value,unit,status\n";
        for (const auto& cell : cells) {
            CsvRow line;
            line.number(at_seconds).text(cell.name);
            if (cell.known)
                line.number(cell.value);
            else
                line.empty();
            text += line.text(cell.unit).text(cell.status).line() + "\n";
        }
        return text;
    }
    json::Writer writer;
    writer.begin_object();
    writer.member("schema", "tmaprobe.interval/1");
    writer.member("at_seconds", at_seconds);
    writer.key("values");
    writer.begin_object();
    for (const auto& cell : cells) {
        writer.key(cell.name);
        if (cell.known)
            writer.number(cell.value);
        else
            writer.null();
    }
    writer.end_object();
    writer.end_object();
    return writer.take() + "\n";
}

std::string IntervalRows::table_row(double at_seconds, const std::vector<Cell>& cells) {
    constexpr std::size_t time_width = 9, least = 8, between_headings = 20;
    std::size_t wide = time_width;
    for (const auto& cell : cells) wide += 2 + std::max({least, width_of(cell.name), width_of(cell.text)});
    const std::string time = pad_left(fmt::format("{:.3f}", at_seconds), time_width);
    std::string text;
    if (wide > static_cast<std::size_t>(std::max(style_.width, 40))) {
        for (const auto& cell : cells) text += time + "  " + pad_left(cell.text, 12) + "  " + cell.name + "\n";
        return text;
    }
    if (rows_++ % between_headings == 0) {
        text = pad_left("seconds", time_width);
        for (const auto& cell : cells) text += "  " + pad_left(cell.name, std::max(least, width_of(cell.text)));
        text += "\n";
    }
    text += time;
    for (const auto& cell : cells) text += "  " + pad_left(cell.text, std::max(least, width_of(cell.name)));
    return text + "\n";
}

}  // namespace tmaprobe::report
