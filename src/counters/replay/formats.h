#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "counters/replay/replay.h"

namespace tmaprobe::counters::replay {

/// One line of the file with the interval that it belongs to.
struct TimedLine {
    std::optional<double> at_seconds;
    Line line;
    bool has_times = false;  ///< how long it ran stands there
};

/// A piece of text and where it lies, for messages.
struct Place {
    std::string_view label;
    std::size_t line = 0;
    std::string_view text;  ///< the whole line

    /// bad_input "label:line:column: what"; `at` points into text.
    tl::unexpected<Error> fault(std::string_view at, const std::string& what) const;
};

/// `perf stat -x`: separates and reads the lines. Comments and blank lines are already gone.
Result<std::vector<TimedLine>> read_separated(const std::vector<Place>& places);

/// `perf stat -j`: one object a line.
Result<std::vector<TimedLine>> read_json(const std::vector<Place>& places);

/// Reads a count as perf prints it into `line`: a number, "<not counted>" or "<not supported>".
/// Errors: bad_input for anything else, also for negative, infinite and NaN.
Result<> read_value(const Place& place, std::string_view text, Line& line);

/// Printable ASCII throughout and not endless, as all that perf can be asked to count.
bool is_event_name(std::string_view text);

/// A plain decimal number, finite and not negative; nothing otherwise.
std::optional<double> plain_number(std::string_view text);

}  // namespace tmaprobe::counters::replay
