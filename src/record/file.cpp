#include <fmt/format.h>

#include "base/file.h"
#include "record/record.h"

namespace tmaprobe::record {
namespace {

using nlohmann::json;

/// No record nests deeper; a file that does is hostile, and would exhaust the stack of whoever walks it.
constexpr int deepest_nesting = 64;

std::string place(std::string_view text, std::size_t offset, std::size_t first_line) {
    std::size_t line = first_line, column = 1;
    for (const char c : text.substr(0, offset)) {
        ++column;
        if (c == '\n') ++line, column = 1;
    }
    return fmt::format("{}:{}", line, column);
}

/// Offset of the bracket that opens one level too many, or npos.
std::size_t too_deep_at(std::string_view text) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            else if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > deepest_nesting) return i;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return std::string_view::npos;
}

/// The parser's message without its own prefix, which repeats the place.
std::string message_of(const json::parse_error& error) {
    const std::string what = error.what();
    const auto at = what.find("syntax error");
    return at == std::string::npos ? what : what.substr(at);
}

Result<json> parse(std::string_view text, const std::string& name, std::size_t first_line) {
    const auto wrong = [&](std::size_t offset, const std::string& why) {
        return fail(ErrorCode::bad_input, fmt::format("{}:{}: {}", name, place(text, offset, first_line), why),
                    "is the file complete?");
    };
    if (const auto at = too_deep_at(text); at != std::string_view::npos) return wrong(at, "nested too deeply");
    try {
        return json::parse(text);
    } catch (const json::parse_error& error) {
        return wrong(error.byte > 0 ? error.byte - 1 : 0, message_of(error));
    } catch (const json::exception& error) {  // a number out of range
        return wrong(0, error.what());
    }
}

Result<Record> record_of(const json& document, const std::string& where) {
    auto record = from_json(document);
    if (!record) return fail(record.error().code, where + ": " + record.error().what, record.error().hint);
    return record;
}

/// Joins the lines that serialize_lines made of one record.
class Joiner {
  public:
    void add(const json& document, Record record) {
        json context = document;
        context.erase("runs");
        std::size_t index = 0;
        if (const auto part = document.find("part"); part != document.end() && part->is_object()) {
            const auto given = part->find("index");
            if (given != part->end() && given->is_number_unsigned()) index = given->get<std::size_t>();
            context["part"].erase("index");
        }
        if (!records_.empty() && index > 0 && index == records_.back().runs.size() && context == context_) {
            for (auto& run : record.runs) records_.back().runs.push_back(std::move(run));
        } else {
            records_.push_back(std::move(record));
        }
        context_ = std::move(context);
    }
    std::vector<Record> take() { return std::move(records_); }

  private:
    std::vector<Record> records_;
    json context_;
};

Result<std::vector<Record>> parse_lines(std::string_view text, const std::string& name) {
    Joiner joiner;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const auto end = text.find('\n');
        const auto content = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (content.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const auto document = parse(content, name, line);
        if (!document) return pass_on(document);
        auto record = record_of(*document, fmt::format("{}:{}", name, line));
        if (!record) return pass_on(record);
        joiner.add(*document, std::move(*record));
    }
    return joiner.take();
}

/// Whether the first of several lines holds a whole JSON value by itself, as in JSON Lines.
bool has_lines(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    const auto end = text.find('\n', first);
    if (end == std::string_view::npos || text.find_first_not_of(" \t\r\n", end) == std::string_view::npos) return false;
    const auto line = text.substr(first, end - first);
    return line.back() != ',' && too_deep_at(line) == std::string_view::npos && line.starts_with('{') &&
           json::accept(line);
}

}  // namespace

Result<std::vector<Record>> parse_records(std::string_view text, const std::string& name) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return fail(ErrorCode::bad_input, name + " is empty", "a record is what tmaprobe writes with --json");
    if (has_lines(text)) return parse_lines(text, name);

    const auto document = parse(text, name, 1);
    if (!document) return pass_on(document);
    std::vector<Record> records;
    if (!document->is_array()) {
        auto record = record_of(*document, name);
        if (!record) return pass_on(record);
        records.push_back(std::move(*record));
        return records;
    }
    for (std::size_t i = 0; i < document->size(); ++i) {
        auto record = record_of((*document)[i], fmt::format("{}: [{}]", name, i));
        if (!record) return pass_on(record);
        records.push_back(std::move(*record));
    }
    return records;
}

Result<std::vector<Record>> read_records(const std::filesystem::path& path) {
    const auto text = read_file(path);
    if (!text) return pass_on(text);
    return parse_records(*text, path.string());
}

}  // namespace tmaprobe::record
