#include <fmt/format.h>

#include <algorithm>

#include "base/json/writer.h"
#include "report/gate.h"
#include "report/markdown_html.h"
#include "report/numbers.h"
#include "report/text.h"

namespace tmaprobe::report {
namespace {

using record::CostMove;
using record::GateVerdict;

/// Lines that became slower and are in a source that the project may have, the most first.
std::vector<CostMove> slower_lines(const record::Gate& gate) {
    constexpr std::size_t most = 10;
    std::vector<CostMove> lines;
    for (const CostMove& move : gate.result->lines)
        if (move.share > 0 && !move.code.file.empty() && move.code.file.front() != '/' && lines.size() < most)
            lines.push_back(move);
    return lines;
}

std::string line_sentence(const CostMove& move) {
    return fmt::format("{}: {} cycles, {} before ({:+.2f}% of all)",
                       move.code.function.empty() ? "here" : move.code.function, plain_number(move.after),
                       plain_number(move.before), 100 * move.share);
}

/// As a workflow command takes a value.
std::string github_escaped(const std::string& text, bool property) {
    std::string escaped;
    for (const char letter : text) {
        if (letter == '%')
            escaped += "%25";
        else if (letter == '\r')
            escaped += "%0D";
        else if (letter == '\n')
            escaped += "%0A";
        else if (property && letter == ':')
            escaped += "%3A";
        else if (property && letter == ',')
            escaped += "%2C";
        else
            escaped += letter;
    }
    return escaped;
}

const char* level_of(GateVerdict verdict) {
    switch (verdict) {
        case GateVerdict::slower:
            return "error";
        case GateVerdict::not_judged:
            return "warning";
        case GateVerdict::passed:
        case GateVerdict::faster:
            break;
    }
    return "notice";
}

/// The same for the same finding, so that the next report knows it again.
std::string fingerprint_of(const std::string& text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : text) hash = (hash ^ static_cast<std::uint8_t>(letter)) * 0x100000001b3;
    return fmt::format("{:016x}", hash);
}

void write_finding(json::Writer& writer, const std::string& what, const std::string& path, std::uint64_t line) {
    writer.begin_object();
    writer.member("description", what);
    writer.member("check_name", "tmaprobe-gate");
    writer.member("fingerprint", fingerprint_of(fmt::format("{}:{}:{}", path, line, what.substr(0, what.find(':')))));
    writer.member("severity", "major");
    writer.key("location");
    writer.begin_object();
    writer.member("path", path);
    writer.key("lines");
    writer.begin_object();
    writer.member("begin", line);
    writer.end_object();
    writer.end_object();
    writer.end_object();
}

/// The costs as a line, the oldest left; nothing of fewer than two.
std::string history_drawing(const std::vector<record::CostPoint>& points) {
    if (points.size() < 2) return {};
    constexpr double width = 720, height = 180, edge = 10;
    double least = points.front().cycles, most = least;
    for (const auto& point : points) {
        least = std::min(least, point.cycles);
        most = std::max(most, point.cycles);
    }
    const double span = most > least ? most - least : 1;
    std::string line, dots;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double x = edge + (width - 2 * edge) * static_cast<double>(i) / static_cast<double>(points.size() - 1);
        const double y = height - edge - (height - 2 * edge) * (points[i].cycles - least) / span;
        line += fmt::format("{:.1f},{:.1f} ", x, y);
        dots +=
            fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{} {}: {} cycles</title></circle>", x, y,
                        escaped_html(points[i].started), escaped_html(points[i].label), plain_number(points[i].cycles));
    }
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"cycles over time\"><polyline points=\"{2}\" "
        "fill=\"none\" stroke=\"currentColor\"/>{3}</svg>\n",
        width, height, line, dots);
}

std::string history_table(const std::vector<record::CostPoint>& points) {
    std::string html = "<table><tr><th>when</th><th>what</th><th>cycles</th><th>to the one before</th></tr>\n";
    for (std::size_t i = points.size(); i-- > 0;) {
        const auto& point = points[i];
        html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped_html(point.started),
                            escaped_html(point.label), plain_number(point.cycles),
                            i ? change_text(point.cycles / points[i - 1].cycles) : "");
    }
    return html + "</table>\n";
}

}  // namespace

std::string gate_github(const record::Record& record) {
    const record::Gate& gate = *record.runs.front().extra.gate;
    if (!gate.result) return "::notice title=tmaprobe gate::" + github_escaped(gate_sentence(gate), false) + "\n";
    std::string text = fmt::format("::{} title=tmaprobe gate::{}\n", level_of(gate.result->verdict),
                                   github_escaped(gate_sentence(gate), false));
    if (gate.result->verdict != GateVerdict::slower) return text;
    for (const CostMove& move : slower_lines(gate))
        text += fmt::format("::error file={},line={},title=tmaprobe gate::{}\n", github_escaped(move.code.file, true),
                            move.code.line, github_escaped(line_sentence(move), false));
    return text;
}

std::string gate_gitlab(const record::Record& record) {
    const record::Gate& gate = *record.runs.front().extra.gate;
    json::Writer writer(json::Layout::indented);
    writer.begin_array();
    if (gate.result && gate.result->verdict == GateVerdict::slower) {
        const auto lines = slower_lines(gate);
        for (const CostMove& move : lines) write_finding(writer, line_sentence(move), move.code.file, move.code.line);
        // Without a line it is the program's.
        if (lines.empty()) write_finding(writer, gate_sentence(gate), gate.command.front(), 1);
    }
    writer.end_array();
    return writer.take();
}

std::string gate_html(const record::Record& record) {
    const record::Gate& gate = *record.runs.front().extra.gate;
    auto points = gate.history;
    points.push_back(
        {record.started, gate.label.empty() ? "this run" : gate.label, gate.cost.cycles.value, record.tool.version});
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<title>tmaprobe gate</title>\n<style>body{font-family:sans-serif;max-width:60em;margin:auto;padding:1em}"
           "table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ccc}"
           "td:first-child,th:first-child{text-align:left}</style>\n</head>\n<body>\n" +
           markdown_html(gate_markdown(record)) + "<h3>Cycles over time</h3>\n" + history_drawing(points) +
           history_table(points) + "</body>\n</html>\n";
}

}  // namespace tmaprobe::report
