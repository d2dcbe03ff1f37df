#include "counters/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "counters/replay/formats.h"

namespace tmaprobe::counters::replay {
namespace {

/// Lines of the text without comments and blank ones. A byte order mark and carriage returns are dropped.
std::vector<Place> lines_of(std::string_view label, std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    std::vector<Place> places;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const std::size_t first = line.find_first_not_of(" \t");
        if (first == line.npos || line[first] == '#') continue;
        places.push_back({label, number, line});
    }
    return places;
}

/// Lines of one interval belong together; perf writes them one after another.
Result<std::vector<Snapshot>> group_by_interval(std::string_view label, std::vector<TimedLine> lines) {
    std::vector<Snapshot> snapshots;
    for (TimedLine& timed : lines) {
        if (snapshots.empty() || snapshots.back().at_seconds != timed.at_seconds) {
            const bool backwards = !snapshots.empty() && snapshots.back().at_seconds && timed.at_seconds &&
                                   *timed.at_seconds < *snapshots.back().at_seconds;
            if (backwards)
                return fail(ErrorCode::bad_input,
                            fmt::format("{}:{}:1: the interval's time {:.9f} lies before the last one", label,
                                        timed.line.line, *timed.at_seconds),
                            "are these several outputs in one file?");
            // perf may add the sums over all intervals at the end, without a time.
            if (!snapshots.empty() && snapshots.front().at_seconds && !timed.at_seconds) continue;
            snapshots.push_back({timed.at_seconds, {}});
        }
        snapshots.back().lines.push_back(std::move(timed.line));
    }
    return snapshots;
}

}  // namespace

tl::unexpected<Error> Place::fault(std::string_view at, const std::string& what) const {
    const bool inside = at.data() >= text.data() && at.data() <= text.data() + text.size();
    const std::size_t column = inside ? static_cast<std::size_t>(at.data() - text.data()) + 1 : 1;
    return fail(ErrorCode::bad_input, fmt::format("{}:{}:{}: {}", label, line, column, what));
}

std::optional<double> plain_number(std::string_view text) {
    // Digits first: from_chars would also take "inf", "nan" and a minus.
    if (text.empty() || !(text[0] >= '0' && text[0] <= '9')) return std::nullopt;
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

bool is_event_name(std::string_view text) {
    constexpr std::size_t longest = 4096;
    return text.size() <= longest && std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

Result<> read_value(const Place& place, std::string_view text, Line& line) {
    if (text == "<not supported>") {
        line.supported = line.counted = false;
        return {};
    }
    if (text == "<not counted>") {
        line.counted = false;
        return {};
    }
    const auto value = plain_number(text);
    if (!value && text.starts_with('-') && plain_number(text.substr(1)))
        return place.fault(text, fmt::format("the count {} is negative", text));
    if (!value) return place.fault(text, fmt::format("'{}' is not a count", text));
    constexpr double largest = 18446744073709551615.0;
    if (*value > largest) return place.fault(text, fmt::format("the count {} is larger than a counter can hold", text));
    line.value = *value;
    return {};
}

Result<std::vector<Snapshot>> parse_counts(std::string_view label, std::string_view text) {
    const std::vector<Place> places = lines_of(label, text);
    const auto first = places.empty() ? std::string_view() : places.front().text;
    const bool json = first.find_first_not_of(" \t") != first.npos && first[first.find_first_not_of(" \t")] == '{';
    auto lines = TRY(json ? read_json(places) : read_separated(places));
    if (lines.empty())
        return fail(ErrorCode::bad_input, fmt::format("{}:1:1: no counts in this file", label),
                    "perf stat -x, -o FILE or perf stat -j -o FILE writes them; --metric-only leaves them out");
    // Whatever number stands before "0,0.00": it never ran.
    for (TimedLine& timed : lines)
        if (timed.line.run_ns == 0 && timed.line.share == 0) timed.line.counted = false;
    return group_by_interval(label, std::move(lines));
}

Result<std::vector<Snapshot>> read_counts(const std::filesystem::path& path) {
    const auto text = TRY(read_file(path));
    return parse_counts(path.string(), text);
}

}  // namespace tmaprobe::counters::replay
