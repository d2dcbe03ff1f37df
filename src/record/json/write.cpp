#include "base/json/write.h"

#include "record/json/file.h"
#include "record/json/record.h"

namespace tmaprobe::record {
namespace {

template <class T>
std::string text_in(json::Layout layout, const T& value) {
    json::Writer writer(layout);
    json::write(writer, value);
    return writer.take();
}

}  // namespace

std::string serialize(const Record& record) { return text_in(json::Layout::indented, record); }

std::string serialize(const std::vector<Record>& records) {
    return records.size() == 1 ? serialize(records.front()) : text_in(json::Layout::indented, records);
}

std::string serialize(const std::vector<Comparison>& comparisons) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object();
    writer.member("schema", "tmaprobe.comparison/1");
    writer.key("comparison");
    json::write(writer, comparisons);
    writer.end_object();
    return writer.take();
}

std::string serialize_lines(const std::vector<Comparison>& comparisons) {
    std::string lines;
    for (const Comparison& comparison : comparisons) lines += text_in(json::Layout::ascii_line, comparison) + "\n";
    return lines;
}

std::string serialize_lines(const Record& record) {
    if (record.runs.size() < 2) return text_in(json::Layout::ascii_line, record) + "\n";
    Record line = record;
    std::string lines;
    for (std::size_t i = 0; i < record.runs.size(); ++i) {
        line.part = RecordPart{i, record.runs.size()};
        line.runs = {record.runs[i]};
        lines += text_in(json::Layout::ascii_line, line) + "\n";
    }
    return lines;
}

}  // namespace tmaprobe::record
