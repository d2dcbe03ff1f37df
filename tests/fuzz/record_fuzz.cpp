// Any text as a record file, and records of the tree with anything in any place: refused with its place, or
// written in every format such that whoever reads the format finds nothing but data.
#include <fuzzer/FuzzedDataProvider.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <source_location>
#include <string>
#include <vector>

#include "base/file.h"
#include "record/json/file.h"
#include "report/formats.h"
#include "report/terminal.h"
#include "report/writers.h"

using namespace tmaprobe;
using nlohmann::json;

namespace {

/// Ends the fuzzing with the place of what does not hold.
void require(bool condition, std::source_location where = std::source_location::current()) {
    if (condition) return;
    std::fprintf(stderr, "record_fuzz.cpp:%u does not hold\n", static_cast<unsigned>(where.line()));
    std::abort();
}

std::size_t count_of(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++count;
    return count;
}

/// Line ends alone of all control characters: no escape sequence, no tab that moves a column.
bool is_plain(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < 32 && c != '\n') || c == 127; });
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return lines;
}

void check_terminal(const record::Record& record) {
    report::TerminalStyle style;
    style.verbose = true;
    require(is_plain(report::render_terminal(record, style)));
    style.unicode = false;
    style.width = 40;
    const std::string ascii = report::render_terminal(record, style);
    require(is_plain(ascii) && std::all_of(ascii.begin(), ascii.end(), [](char c) { return c >= 0; }));
}

/// As many script elements as the page of an empty record has: none was begun or ended by data.
void check_html(const report::Records& records) {
    static const auto scripts = [](const std::string& page) {
        return count_of(page, "<script") + 1000 * count_of(page, "</script") + 1000000 * count_of(page, "<!--");
    };
    static const std::size_t expected = scripts(report::write_html({record::Record{}}));
    require(scripts(report::write_html(records)) == expected);
}

/// RFC 4180 with as many cells on every line, and no cell that a spreadsheet would run.
void check_csv(std::string_view text) {
    require(is_plain(text));
    std::size_t columns = 0;
    for (const auto line : lines_of(text)) {
        std::vector<std::string> cells(1);
        bool quoted = false;
        for (std::size_t i = 0; i < line.size(); ++i) {
            const bool mark = line[i] == '"';
            const bool doubled = mark && quoted && i + 1 < line.size() && line[i + 1] == '"';
            if (mark && !doubled)
                quoted = !quoted;
            else if (line[i] == ',' && !quoted)
                cells.emplace_back();
            else
                cells.back() += line[i];
            if (doubled) ++i;
        }
        require(!quoted);
        if (columns == 0) columns = cells.size();
        require(cells.size() == columns);
        for (const auto& cell : cells) {
            if (cell.empty() || !std::strchr("=+-@", cell[0])) continue;
            char* end = nullptr;
            std::strtod(cell.c_str(), &end);
            require(*end == '\0');  // a number is no formula
        }
    }
}

/// All rows of a table have the columns of its head.
void check_markdown(std::string_view text) {
    require(is_plain(text));
    std::size_t columns = 0;
    for (const auto line : lines_of(text)) {
        std::size_t bars = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (line[i] == '\\')
                ++i;
            else if (line[i] == '|')
                ++bars;
        }
        if (!line.starts_with("|")) bars = 0;
        require(columns == 0 || bars == 0 || bars == columns);
        columns = bars;
    }
}

/// name{label="value",...} number, with quotes, backslashes and line ends escaped; every series once.
void check_openmetrics(std::string_view text) {
    require(is_plain(text) && text.ends_with("# EOF\n"));
    std::vector<std::string_view> series;
    for (auto line : lines_of(text)) {
        if (line.starts_with("# ")) continue;
        const std::size_t start = line.find_first_of("{ ");
        require(start != line.npos &&
                line.substr(0, start).find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == line.npos);
        bool quoted = false;
        std::size_t end = start;
        for (; end < line.size() && (quoted || line[end] != ' '); ++end) {
            if (quoted && line[end] == '\\')
                ++end;
            else if (line[end] == '"')
                quoted = !quoted;
        }
        require(!quoted && end < line.size());
        series.push_back(line.substr(0, end));
        const std::string number(line.substr(end + 1));
        char* rest = nullptr;
        std::strtod(number.c_str(), &rest);
        require(!number.empty() && *rest == '\0');
    }
    std::sort(series.begin(), series.end());
    require(std::adjacent_find(series.begin(), series.end()) == series.end());
}

void check_again(const report::Records& records) {
    const auto again = record::parse_records(*report::render(records, "json"), "again");
    require(again && again->size() == records.size());
    for (std::size_t i = 0; i < records.size(); ++i)
        require(record::serialize((*again)[i]) == record::serialize(records[i]));
    const auto lines = record::parse_records(*report::render(records, "jsonl"), "lines");
    require(lines.has_value());
}

void check(std::string_view text) {
    const auto records = record::parse_records(text, "fuzzed");
    if (!records) {
        require(records.error().code == ErrorCode::bad_input && records.error().what.starts_with("fuzzed"));
        return;
    }
    if (records->empty()) return;
    for (const auto& record : *records) check_terminal(record);
    check_html(*records);
    check_csv(*report::render(*records, "csv"));
    check_markdown(*report::render(*records, "markdown"));
    check_openmetrics(*report::render(*records, "openmetrics"));
    check_again(*records);
}

/// The records of the tree, each with the places of its values.
struct Seed {
    json document;
    std::vector<json::json_pointer> places;
};

void add_places(const json& value, const json::json_pointer& at, std::vector<json::json_pointer>& places) {
    places.push_back(at);
    if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i) add_places(value[i], at / i, places);
    else if (value.is_object())
        for (const auto& [key, item] : value.items()) add_places(item, at / key, places);
}

const std::vector<Seed>& seeds() {
    static const std::vector<Seed> loaded = [] {
        std::vector<Seed> all;
        for (const auto& entry : std::filesystem::directory_iterator(TMAPROBE_SOURCE_DIR "/tests/report/records")) {
            if (entry.path().extension() != ".json") continue;
            all.push_back({json::parse(*read_file(entry.path())), {}});
            add_places(all.back().document, json::json_pointer(), all.back().places);
        }
        require(!all.empty());
        std::sort(all.begin(), all.end(),
                  [](const Seed& a, const Seed& b) { return a.places.size() < b.places.size(); });
        return all;
    }();
    return loaded;
}

json any_value(FuzzedDataProvider& data) {
    static const char* const hostile[] = {"</script><script>alert(1)</script>",
                                          "\x1b[31mred\x1b]0;t\a",
                                          "a\nb\r\nc\td",
                                          "=1+1",
                                          "+cmd|' /C calc'!A0",
                                          "@SUM(1)",
                                          "-2+3",
                                          "a|b`c|d",
                                          "\"quoted\\\"",
                                          "<!--",
                                          "\xe2\x80\xae"
                                          "rtl",
                                          "]]>",
                                          "&amp;",
                                          "{}\",=\"",
                                          ""};
    switch (data.ConsumeIntegralInRange(0, 9)) {
        case 0:
            return nullptr;
        case 1:
            return data.ConsumeBool();
        case 2:
            return data.ConsumeIntegral<std::int64_t>();
        case 3:
            return data.ConsumeFloatingPoint<double>();
        case 4:
            return json::array({1, "x", nullptr});
        case 5:
            return json::object({{"a", 1}, {"</script>", "b"}});
        case 6:
            return data.ConsumeIntegralInRange<int>(-2, 40);
        case 7:
            return hostile[data.ConsumeIntegralInRange<std::size_t>(0, std::size(hostile) - 1)];
        default:
            return data.ConsumeRandomLengthString(48);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size > 0 && bytes[0] % 4 == 0) {
        check({reinterpret_cast<const char*>(bytes) + 1, size - 1});
        return 0;
    }
    FuzzedDataProvider data(bytes, size);
    data.ConsumeIntegral<std::uint8_t>();
    const auto& seed = seeds()[data.ConsumeIntegralInRange<std::size_t>(0, seeds().size() - 1)];
    json document = seed.document;
    while (data.remaining_bytes() > 2) {
        const auto& place = seed.places[data.ConsumeIntegralInRange<std::size_t>(0, seed.places.size() - 1)];
        if (document.contains(place)) document[place] = any_value(data);
    }
    check(document.dump(-1, ' ', false, json::error_handler_t::replace));
    return 0;
}
