#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>

#include <algorithm>

#include "base/file.h"
#include "base/json_dump.h"
#include "record/node.h"
#include "record/read.h"
#include "record/record.h"

namespace tmaprobe::record {
namespace {

using nlohmann::json;

/// Iterative: a hostile file may nest as deep as it likes.
constexpr unsigned parse_flags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                                 rapidjson::kParseFullPrecisionFlag | rapidjson::kParseStopWhenDoneFlag;

constexpr const char* blanks = " \t\r\n";

std::size_t line_of(std::string_view text, std::size_t offset) {
    return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

/// "12:3", both from one.
std::string place(std::string_view text, std::size_t offset) {
    const auto line_start = text.substr(0, offset).rfind('\n');
    const std::size_t column = offset - (line_start == std::string_view::npos ? 0 : line_start + 1);
    return fmt::format("{}:{}", line_of(text, offset), column + 1);
}

/// Joins the lines that serialize_lines made of one record.
class Joiner {
  public:
    void add(const rapidjson::Value& document, Record record) {
        json context = context_of(document);
        const auto part = context.find("part");
        std::size_t index = 0, parts = 1;
        if (part != context.end() && part->is_object()) {
            const auto number = [&](const char* key, std::size_t otherwise) {
                const auto found = part->find(key);
                return found != part->end() && found->is_number_unsigned() ? found->get<std::size_t>() : otherwise;
            };
            index = number("index", 0);
            parts = number("of", 1);
            part->erase("index");
        }
        if (!records_.empty() && index > 0 && index == records_.back().runs.size() && context == context_) {
            for (auto& run : record.runs) records_.back().runs.push_back(std::move(run));
        } else {
            records_.push_back(std::move(record));
            parts_.push_back(parts);
        }
        context_ = std::move(context);
    }
    std::vector<Record> take() {
        for (std::size_t i = 0; i < records_.size(); ++i)
            if (const std::size_t there = records_[i].runs.size(); there < parts_[i])
                records_[i].warnings.push_back({"parts_missing", fmt::format("{} of this record's {} runs are here", there, parts_[i]),
                                                "its other lines of JSON Lines are missing, or not in their order"});
        return std::move(records_);
    }

  private:
    /// All of a record but its runs; null for one that is no part of another.
    static json context_of(const rapidjson::Value& document) {
        if (!document.HasMember("part")) return nullptr;
        std::string ignored;
        json context = json::object();
        Node(document, ignored).each_member([&](const char* key, const Node& value) {
            if (key != std::string_view("runs")) context[key] = value.open();
        });
        return context;
    }
    std::vector<Record> records_;
    std::vector<std::size_t> parts_;  ///< of which each record was made
    json context_;
};

/// The records of one JSON value: a record, or an array of them.
Result<> add_records(const rapidjson::Value& document, const std::string& where, Joiner& joiner) {
    const auto add = [&](const rapidjson::Value& one, const std::string& its_place) -> Result<> {
        auto record = read_document(one);
        if (!record) return fail(record.error().code, its_place + ": " + record.error().what, record.error().hint);
        joiner.add(one, std::move(*record));
        return {};
    };
    if (!document.IsArray()) return add(document, where);
    for (rapidjson::SizeType i = 0; i < document.Size(); ++i)
        if (const auto added = add(document[i], fmt::format("{}: [{}]", where, i)); !added) return added;
    return {};
}

}  // namespace

Result<std::vector<Record>> parse_records(std::string_view text, const std::string& name) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
    const auto last = text.find_last_not_of(blanks);
    if (last == std::string_view::npos)
        return fail(ErrorCode::bad_input, name + " is empty", "a record is what tmaprobe writes with --json");
    const auto wrong = [&](std::size_t offset, const std::string& why) {
        return fail(ErrorCode::bad_input, fmt::format("{}:{}: {}", name, place(text, offset), why), "is the file complete?");
    };
    // The parser takes it for the end of the text.
    if (const auto zero = text.find('\0'); zero != std::string_view::npos) return wrong(zero, "a zero byte");

    Joiner joiner;
    rapidjson::MemoryStream stream(text.data(), text.size());
    for (bool first = true; stream.Tell() <= last; first = false) {
        const std::size_t start = text.find_first_not_of(blanks, stream.Tell());
        rapidjson::Document document;
        document.ParseStream<parse_flags, rapidjson::UTF8<>>(stream);
        if (document.HasParseError())
            return wrong(document.GetErrorOffset(), std::string("syntax error: ") + rapidjson::GetParseError_En(document.GetParseError()));
        const bool only = first && stream.Tell() > last;
        const auto added = add_records(document, only ? name : fmt::format("{}:{}", name, line_of(text, start)), joiner);
        if (!added) return pass_on(added);
    }
    auto records = joiner.take();
    if (records.empty()) return fail(ErrorCode::bad_input, name + " holds no record", "a record is what tmaprobe writes with --json");
    return records;
}

Result<Record> from_json(const json& document) {
    const std::string text = dump_line(document);
    rapidjson::Document parsed;
    parsed.Parse<parse_flags>(text.data(), text.size());
    return read_document(parsed);
}

Result<std::vector<Record>> read_records(const std::filesystem::path& path) {
    const auto text = read_file(path);
    if (!text) return pass_on(text);
    return parse_records(*text, path.string());
}

}  // namespace tmaprobe::record
