#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json/value.h"
#include "counters/replay/formats.h"

namespace tmaprobe::counters::replay {
namespace {

/// The text of a key, numbers included; empty when it is not there.
std::string text_of(json::Value object, const char* key) {
    const json::Value found = object.at(key);
    return found.is_null() ? "null" : found.scalar_text();
}

/// The line with null for what is no number in JSON: some versions of perf print a metric of 0 / 0 as a bare nan.
/// Every character keeps its column.
std::string without_bare_nan(std::string_view text) {
    std::string changed(text);
    for (const std::string_view word : {": nan", ": -nan", ": inf", ": -inf"})
        for (std::size_t at = 0; (at = changed.find(word, at)) != changed.npos; at += word.size()) {
            const std::size_t end = at + word.size();
            if (changed.find_first_of(",}", end) == end) changed.replace(end - 4, 4, "null");
        }
    return changed;
}

/// A key that stands twice in an object anywhere in the value; empty where there is none.
std::string key_that_stands_twice(json::Value value) {
    std::set<std::string_view> keys;
    for (const json::Value member : value) {
        if (value.is_object() && !keys.insert(member.key()).second) return std::string(member.key());
        if (auto twice = key_that_stands_twice(member); !twice.empty()) return twice;
    }
    return {};
}

/// Objects in which a key stands twice are refused: which of the two was meant nobody knows.
Result<json::Document> parse(const Place& place) {
    const std::string text = without_bare_nan(place.text);
    std::size_t at = 0;
    auto document = json::parse_next(text, "", at);
    if (document && text.find_first_not_of(" \t\r\n", at) != text.npos)
        return place.fault(place.text.substr(at), "not valid JSON");
    if (!document)
        return place.fault(place.text.substr(at), at >= text.size() ? "the line ends too early" : "not valid JSON");
    const std::string twice = key_that_stands_twice(document->root());
    if (twice.empty()) return document;
    const std::size_t second = place.text.rfind(fmt::format("\"{}\"", twice));
    return place.fault(place.text.substr(std::min(second, place.text.size())),
                       fmt::format("'{}' stands there twice", twice));
}

/// What -A, --per-* and the like aggregate over.
std::string where_of(json::Value object) {
    std::string where;
    for (const char* key : {"core", "die", "socket", "node", "cache", "cluster", "thread", "cpu", "cgroup"}) {
        const std::string text = text_of(object, key);
        if (text.empty()) continue;
        if (!where.empty()) where += ' ';
        where += (std::string_view(key) == "cpu" ? "CPU" : "") + text;
    }
    return where;
}

/// A number under a key, within [0, most]; `missing` when it is not there.
Result<double> number_of(const Place& place, json::Value object, const char* key, double missing, double most) {
    const std::string text = text_of(object, key);
    if (text.empty()) return missing;
    if (text == "null" && std::string_view(key) == "variance") return missing;  // of a mean of 0
    const auto number = plain_number(text);
    const std::size_t at = place.text.find(fmt::format("\"{}\"", key));
    if (!number || *number > most)
        return place.fault(place.text.substr(std::min(at, place.text.size())), fmt::format("{} is '{}'", key, text));
    return *number;
}

Result<> read_object(const Place& place, json::Value object, TimedLine& result) {
    Line& line = result.line;
    line.line = place.line;
    line.event = text_of(object, "event");
    line.unit = text_of(object, "unit");
    line.where = where_of(object);
    const std::string value = text_of(object, "counter-value");
    const std::size_t at = std::min(place.text.find("\"counter-value\""), place.text.size());
    if (const auto read = read_value(place, value, line); !read)
        return place.fault(place.text.substr(at), fmt::format("the count is '{}'", value));
    if (line.event.empty()) return place.fault(place.text.substr(at), "no event is named");
    if (!is_event_name(line.event)) return place.fault(place.text.substr(at), "the event's name is not printable");
    const auto run = number_of(place, object, "event-runtime", 0, 1e19);
    const auto share = number_of(place, object, "pcnt-running", 100, 100);
    const auto variance = number_of(place, object, "variance", 0, 1e9);
    for (const auto* number : {&run, &share, &variance})
        if (!*number) return pass_on(*number);
    line.run_ns = *run;
    line.share = *share / 100;
    line.variance = *variance / 100;
    if (!object.at("interval").missing()) {
        result.at_seconds = TRY(number_of(place, object, "interval", 0, 1e12));
    }
    return {};
}

}  // namespace

Result<std::vector<TimedLine>> read_json(const std::vector<Place>& places) {
    std::vector<TimedLine> lines;
    for (const Place& place : places) {
        const auto document = TRY(parse(place));
        const json::Value object = document.root();
        if (!object.is_object()) return place.fault(place.text, "not an object as perf stat -j writes them");
        // Metrics without a count of their own.
        if (object.at("counter-value").missing()) continue;
        TimedLine line;
        TRY(read_object(place, object, line));
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace tmaprobe::counters::replay
