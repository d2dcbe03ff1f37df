#include "report/writers.h"

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

}  // namespace

Result<std::string> render(const Records& records, const std::string& format) {
    if (format == "json") return record::serialize(records);
    if (format == "jsonl") return write_lines(records);
    if (format == "csv") return write_csv(records);
    if (format == "markdown") return write_markdown(records);
    if (format == "openmetrics") return write_openmetrics(records);
    if (format == "html") return write_html(records);
    return fail(ErrorCode::bad_usage, "no format is called '" + format + "'", suggest(format, writer_formats()));
}

std::vector<std::string> writer_formats() { return {"json", "jsonl", "csv", "markdown", "openmetrics", "html"}; }

}  // namespace tmaprobe::report
