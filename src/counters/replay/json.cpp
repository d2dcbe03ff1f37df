#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "counters/replay/formats.h"

namespace tmaprobe::counters::replay {
namespace {

using nlohmann::json;

/// The text of a key, numbers included; empty when it is not there.
std::string text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    return found->is_string() ? found->get<std::string>() : found->dump();
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

/// Objects in which a key stands twice are refused: which of the two was meant nobody knows.
Result<json> parse(const Place& place) {
    std::vector<std::set<std::string>> keys;  // of the objects that are open
    std::string twice;
    const auto watch = [&](int, json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start) keys.emplace_back();
        else if (event == json::parse_event_t::object_end) keys.pop_back();
        else if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
            twice = parsed.get<std::string>();
        return true;
    };
    try {
        json object = json::parse(without_bare_nan(place.text), watch);
        if (twice.empty()) return object;
        const std::size_t at = place.text.rfind(fmt::format("\"{}\"", twice));
        return place.fault(place.text.substr(std::min(at, place.text.size())), fmt::format("'{}' stands there twice", twice));
    } catch (const json::parse_error& error) {
        const std::size_t byte = std::min(error.byte > 0 ? error.byte - 1 : 0, place.text.size());
        return place.fault(place.text.substr(byte), byte >= place.text.size() ? "the line ends too early" : "not valid JSON");
    } catch (const json::exception& error) {
        return place.fault(place.text, error.what());
    }
}

/// What -A, --per-* and the like aggregate over.
std::string where_of(const json& object) {
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
Result<double> number_of(const Place& place, const json& object, const char* key, double missing, double most) {
    const std::string text = text_of(object, key);
    if (text.empty()) return missing;
    if (text == "null" && std::string_view(key) == "variance") return missing;  // of a mean of 0
    const auto number = plain_number(text);
    const std::size_t at = place.text.find(fmt::format("\"{}\"", key));
    if (!number || *number > most)
        return place.fault(place.text.substr(std::min(at, place.text.size())), fmt::format("{} is '{}'", key, text));
    return *number;
}

Result<> read_object(const Place& place, const json& object, TimedLine& result) {
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
    if (object.contains("interval")) {
        const auto interval = number_of(place, object, "interval", 0, 1e12);
        if (!interval) return pass_on(interval);
        result.at_seconds = *interval;
    }
    return {};
}

}  // namespace

Result<std::vector<TimedLine>> read_json(const std::vector<Place>& places) {
    std::vector<TimedLine> lines;
    for (const Place& place : places) {
        const auto object = parse(place);
        if (!object) return pass_on(object);
        if (!object->is_object()) return place.fault(place.text, "not an object as perf stat -j writes them");
        // Metrics without a count of their own.
        if (!object->contains("counter-value")) continue;
        TimedLine line;
        if (const auto read = read_object(place, *object, line); !read) return pass_on(read);
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace tmaprobe::counters::replay
