#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "counters/replay/formats.h"

namespace tmaprobe::counters::replay {
namespace {

bool all_digits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

bool is_bad_count(std::string_view text) { return text == "<not counted>" || text == "<not supported>"; }

bool is_count(std::string_view text) { return plain_number(text).has_value() || is_bad_count(text); }

/// An interval's time has nine decimals; a scaled count never has.
bool is_time(std::string_view text) {
    const std::size_t dot = text.find('.');
    return dot != text.npos && text.size() - dot - 1 == 9 && all_digits(text.substr(0, dot)) &&
           all_digits(text.substr(dot + 1));
}

/// What perf aggregates over: "CPU3", "S0-D0-C1", "N0", or a thread as "name-pid".
bool is_place(std::string_view text) {
    for (const std::string_view prefix : {"CPU", "S", "N"})
        if (text.starts_with(prefix) && text.size() > prefix.size() && all_digits(text.substr(prefix.size(), 1)))
            return true;
    const std::size_t dash = text.rfind('-');
    return dash != text.npos && dash > 0 && all_digits(text.substr(dash + 1));
}

/// Splits at the separator, but not inside an event's "pmu/.../": perf does not quote it.
std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> fields;
    std::size_t begin = 0;
    bool in_terms = false;
    for (std::size_t at = 0; at <= text.size();) {
        if (at == text.size() || (!in_terms && text.substr(at).starts_with(separator))) {
            fields.push_back(text.substr(begin, at - begin));
            at += separator.size();
            begin = at;
            if (at > text.size()) break;
            continue;
        }
        // A unit such as "/sec" or "K/sec" begins or holds a slash that nothing closes; a thread may be called
        // "kworker/0:1-37", but stands before the count.
        if (text[at] == '/') {
            const bool counted = std::ranges::any_of(
                fields, [](std::string_view field) { return is_count(trimmed(field)) && !is_time(trimmed(field)); });
            if (in_terms)
                in_terms = false;
            else if (counted && at > begin && std::isalnum(static_cast<unsigned char>(text[begin])) &&
                     text.find('/', at + 1) != text.npos && fields.size() <= 5)
                in_terms = true;
        }
        ++at;
    }
    return fields;
}

/// Fields of one line, read from the left.
class Fields {
  public:
    explicit Fields(std::vector<std::string_view> fields) : fields_(std::move(fields)) {}
    bool done() const { return next_ >= fields_.size(); }
    std::string_view peek(std::size_t ahead = 0) const {
        return next_ + ahead < fields_.size() ? fields_[next_ + ahead] : std::string_view();
    }
    std::string_view take() { return next_ < fields_.size() ? fields_[next_++] : std::string_view(); }

  private:
    std::vector<std::string_view> fields_;
    std::size_t next_ = 0;
};

/// The columns before the count: time of -I, then what -A, --per-* or --per-thread aggregate over.
std::optional<double> read_prefix(Fields& fields, Line& line) {
    std::optional<double> at_seconds;
    if (is_time(trimmed(fields.peek()))) at_seconds = plain_number(trimmed(fields.take()));
    const std::string_view where = trimmed(fields.peek());
    if (is_place(where) && !is_count(where)) {
        line.where = std::string(where);
        fields.take();
        // "S0,16,": how many CPUs were summed.
        if (all_digits(trimmed(fields.peek())) && is_count(trimmed(fields.peek(1)))) fields.take();
    }
    return at_seconds;
}

Result<> read_line(const Place& place, std::string_view separator, TimedLine& result) {
    Fields fields(split(place.text, separator));
    Line& line = result.line;
    line.line = place.line;
    result.at_seconds = read_prefix(fields, line);
    const std::string_view value = trimmed(fields.take());
    if (const auto read = read_value(place, value, line); !read) return read;
    std::string_view event = trimmed(fields.take());
    // Versions before 3.16 have no column for the unit.
    if (event.empty() || !fields.done()) {
        line.unit = std::string(event);
        event = trimmed(fields.take());
    }
    if (event.empty()) return place.fault(value, "no event is named");
    if (!is_event_name(event)) return place.fault(event, "this is not an event's name");
    line.event = std::string(event);
    if (fields.done()) return {};  // versions before 4.1 end here
    // --for-each-cgroup
    if (const std::string_view next = trimmed(fields.peek());
        !next.empty() && !plain_number(next) && !next.ends_with('%'))
        line.where += (line.where.empty() ? "" : " ") + std::string(trimmed(fields.take()));
    if (const std::string_view next = trimmed(fields.peek()); next.ends_with('%')) {
        const auto percent = plain_number(next.substr(0, next.size() - 1));
        // perf prints nan% where the mean is 0.
        if (!percent && next != "nan%" && next != "-nan%")
            return place.fault(next, fmt::format("'{}' is not a variance", next));
        line.variance = percent.value_or(0) / 100;
        fields.take();
    }
    if (fields.done()) return {};
    const std::string_view run = trimmed(fields.take());
    const std::string_view share = trimmed(fields.take());
    const auto run_ns = plain_number(run);
    if (!run_ns) return place.fault(run, fmt::format("'{}' is not a running time in ns", run));
    const auto percent = plain_number(share);
    if (!percent || *percent > 100)
        return place.fault(share, fmt::format("'{}' is not a share of time in percent", share));
    const std::size_t dot = share.find('.');
    if (dot == share.npos || share.size() - dot != 3)
        return place.fault(share, fields.done()
                                      ? fmt::format("the line ends within '{}'", share)
                                      : fmt::format("'{}' is not a share with two decimals; LC_ALL=C perf stat "
                                                    "writes points instead of commas",
                                                    share));
    line.run_ns = *run_ns;
    line.share = *percent / 100;
    result.has_times = true;
    return {};
}

/// A line with metrics alone, as perf adds them below an event: its count and event columns are empty.
bool is_metric_line(std::string_view text, std::string_view separator) {
    Fields fields(split(text, separator));
    Line unused;
    read_prefix(fields, unused);
    return trimmed(fields.peek()).empty() && trimmed(fields.peek(1)).empty() && trimmed(fields.peek(2)).empty();
}

/// Reads the line with the separator of one to four characters that begins at `end`, the shortest that fits.
Result<std::string> separator_at(const Place& place, std::size_t end) {
    std::optional<Error> first_problem;
    for (std::size_t length = 1; length <= 4 && end + length <= place.text.size(); ++length) {
        const std::string separator(place.text.substr(end, length));
        if (std::ranges::any_of(separator, [](unsigned char c) { return std::isalnum(c) != 0; })) break;
        TimedLine line;
        const auto read = read_line(place, separator, line);
        if (read && !line.line.event.empty() && std::isalpha(static_cast<unsigned char>(line.line.event[0])))
            return separator;
        if (!read && !first_problem) first_problem = read.error();
    }
    if (first_problem) return tl::unexpected(*first_problem);
    return place.fault(place.text, "this is no line of perf stat -x or perf stat -j");
}

/// What follows the first column. A first column that is no number is a place, whose name may hold anything.
Result<std::string> find_separator(const Place& place) {
    const std::string_view text = trimmed(place.text);
    const std::size_t offset = static_cast<std::size_t>(text.data() - place.text.data());
    const bool bad_count = text.starts_with('<');
    const std::size_t end =
        bad_count ? std::min(text.find('>'), text.size() - 1) + 1 : text.find_first_not_of("0123456789.");
    if (end != 0 && end < text.size()) return separator_at(place, offset + end);
    for (const char common : std::string_view(",;\t|:!~^&@ "))
        if (const std::size_t at = text.find(common); at != text.npos && at > 0)
            if (auto found = separator_at(place, offset + at)) return found;
    auto none = place.fault(text, "this is no line of perf stat -x or perf stat -j");
    none.value().hint =
        "perf stat -x, -o FILE or perf stat -j -o FILE writes them; neither its table for people nor --metric-only can "
        "be read";
    return none;
}

/// The line with a point for every decimal comma, as perf prints them in some languages.
std::string with_points(std::string_view text) {
    std::string changed(text);
    for (std::size_t at = 1; at + 1 < text.size(); ++at)
        if (text[at] == ',' && all_digits(text.substr(at - 1, 1)) && all_digits(text.substr(at + 1, 1)))
            changed[at] = '.';
    return changed;
}

/// How the file's lines are to be split.
struct Layout {
    std::string separator;
    bool decimal_comma = false;
};

Result<Layout> find_layout(const Place& place) {
    const auto separator = find_separator(place);
    if (separator) return Layout{*separator, false};
    const std::string changed = with_points(place.text);
    const auto other = find_separator({place.label, place.line, changed});
    if (other && other->find(',') == other->npos) return Layout{*other, true};
    return pass_on(separator);
}

}  // namespace

Result<std::vector<TimedLine>> read_separated(const std::vector<Place>& places) {
    std::vector<TimedLine> lines;
    Layout layout;
    for (Place place : places) {
        // The sums of all intervals, which perf may repeat at the end.
        if (trimmed(place.text).starts_with("summary")) continue;
        if (layout.separator.empty()) {
            layout = TRY(find_layout(place));
        }
        std::string changed;
        if (layout.decimal_comma) place.text = changed = with_points(place.text);
        if (is_metric_line(place.text, layout.separator)) continue;
        TimedLine line;
        TRY(read_line(place, layout.separator, line));
        if (!lines.empty() && lines.front().has_times && !line.has_times)
            return place.fault(place.text.substr(place.text.size()),
                               "the line ends too early: others have a running time");
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace tmaprobe::counters::replay
