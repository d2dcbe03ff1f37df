#include "record/json/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/json/read.h"
#include "record/json/record.h"

namespace tmaprobe::record {
namespace {

constexpr std::string_view blanks = " \t\r\n";

/// Why `document` is no record of this version, or empty.
std::string schema_problem(json::Value document) {
    if (!document.is_object()) return "it is not a JSON object";
    const json::Value schema = document.at("schema");
    if (schema.missing()) return "it has no \"schema\": it is no record of tmaprobe";
    if (!schema.is_text()) return "schema is not a string";
    const std::string_view name = *schema.text();
    if (name == schema_name) return {};
    if (name.starts_with("tmaprobe.record/"))
        return fmt::format("it is a {}, and this tmaprobe reads {}", name, schema_name);
    return fmt::format("its schema is '{}', not {}", name, schema_name);
}

Result<Record> read_document(json::Value document) {
    if (const auto problem = schema_problem(document); !problem.empty())
        return fail(ErrorCode::bad_input, problem, "records are what tmaprobe writes with --json");
    std::string problem;
    Record record;
    json::read(json::Node(document, problem), record);
    if (!problem.empty())
        return fail(ErrorCode::bad_input, problem, "docs/record.schema.json says what a record holds");
    return record;
}

/// Joins the lines that serialize_lines made of one record.
class Joiner {
  public:
    void add(Record record) {
        const auto part = std::exchange(record.part, std::nullopt);
        std::string context = part ? context_of(record) + std::to_string(part->of) : "";
        if (part && part->index > 0 && !records_.empty() && part->index == records_.back().runs.size() &&
            context == context_) {
            for (auto& run : record.runs) records_.back().runs.push_back(std::move(run));
        } else {
            records_.push_back(std::move(record));
            parts_.push_back(part ? part->of : 1);
        }
        context_ = std::move(context);
    }
    std::vector<Record> take() {
        for (std::size_t i = 0; i < records_.size(); ++i)
            if (const std::size_t there = records_[i].runs.size(); there < parts_[i])
                records_[i].warnings.push_back({"parts_missing",
                                                fmt::format("{} of this record's {} runs are here", there, parts_[i]),
                                                "its other lines of JSON Lines are missing, or not in their order"});
        return std::move(records_);
    }

  private:
    /// All of a record but its runs.
    static std::string context_of(Record& record) {
        std::vector<Run> runs = std::exchange(record.runs, {});
        std::string context = serialize(record);
        record.runs = std::move(runs);
        return context;
    }
    std::vector<Record> records_;
    std::vector<std::uint64_t> parts_;  ///< of which each record was made
    std::string context_;               ///< of the record before; empty for one that is no part of another
};

/// The records of one JSON value: a record, or an array of them.
Result<> add_records(json::Value document, const std::string& where, Joiner& joiner) {
    const auto add = [&](json::Value one, const std::string& its_place) -> Result<> {
        auto record = read_document(one);
        if (!record) return fail(record.error().code, its_place + ": " + record.error().what, record.error().hint);
        joiner.add(std::move(*record));
        return {};
    };
    if (!document.is_array()) return add(document, where);
    std::size_t index = 0;
    for (const json::Value one : document)
        if (const auto added = add(one, fmt::format("{}: [{}]", where, index++)); !added) return added;
    return {};
}

}  // namespace

Result<std::vector<Record>> parse_records(std::string_view text, const std::string& name) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
    const auto last = text.find_last_not_of(blanks);
    if (last == text.npos)
        return fail(ErrorCode::bad_input, name + " is empty", "a record is what tmaprobe writes with --json");

    Joiner joiner;
    std::size_t at = 0, line = 1;
    const auto skip_to = [&](std::size_t place) {
        line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                    text.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
        at = place;
    };
    for (bool first = true; at <= last; first = false) {
        skip_to(text.find_first_not_of(blanks, at));
        std::size_t end = at;
        const auto document = json::parse_next(text, name, end);
        if (!document) return fail(document.error().code, document.error().what, "is the file complete?");
        const bool only = first && end > last;
        TRY(add_records(document->root(), only ? name : fmt::format("{}:{}", name, line), joiner));
        skip_to(end);
    }
    auto records = joiner.take();
    if (records.empty())
        return fail(ErrorCode::bad_input, name + " holds no record", "a record is what tmaprobe writes with --json");
    return records;
}

Result<std::vector<Record>> read_records(const std::filesystem::path& path) {
    const auto text = TRY(read_file(path));
    return parse_records(text, path.string());
}

}  // namespace tmaprobe::record
