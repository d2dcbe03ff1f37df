#include "report/writers.h"

#include <algorithm>

#include "base/suggest.h"
#include "record/json/file.h"
#include "report/formats.h"

namespace tmaprobe::report {
namespace {

std::string write_lines(const Records& records) {
    std::string lines;
    for (const auto& record : records) lines += record::serialize_lines(record);
    return lines;
}

/// Formats that hold places in the code and nothing else.
struct PlaceFormat {
    const char* name;
    std::string (*write)(const Records&, const WhereView&);
};
constexpr PlaceFormat of_places[] = {
    {"folded", write_folded}, {"speedscope", write_speedscope}, {"callgrind", write_callgrind}, {"pprof", write_pprof}};

bool knows_places(const Records& records) {
    return std::ranges::any_of(records, [](const record::Record& record) {
        return std::ranges::any_of(record.runs, [](const record::Run& run) { return run.extra.where.has_value(); });
    });
}

}  // namespace

Result<std::string> render(const Records& records, const std::string& format, const WhereView& view) {
    if (format == "json") return record::serialize(records);
    if (format == "jsonl") return write_lines(records);
    if (format == "csv") return write_csv(records);
    if (format == "markdown") return write_markdown(records);
    if (format == "openmetrics") return write_openmetrics(records);
    if (format == "html") return write_html(records, view);
    for (const auto& [name, write] : of_places) {
        if (format != name) continue;
        if (!knows_places(records))
            return fail(ErrorCode::bad_input, "the record does not know which code takes the slots",
                        "tmaprobe where makes records that do");
        return write(records, view);
    }
    return fail(ErrorCode::bad_usage, "no format is called '" + format + "'", suggest(format, writer_formats()));
}

std::vector<std::string> writer_formats() {
    std::vector<std::string> formats{"json", "jsonl", "csv", "markdown", "openmetrics", "html"};
    for (const auto& format : of_places) formats.emplace_back(format.name);
    return formats;
}

}  // namespace tmaprobe::report
