#include "report/calibration.h"

#include <fmt/format.h>

#include "base/sizes.h"
#include "report/text.h"

namespace tmaprobe::report {
namespace {

std::string number(double value, const std::string& unit) {
    if (unit == "bytes per second") return format_rate(value);
    if (unit == "bytes") return fmt::format("{:.1f} MiB", value / (1 << 20));
    return value < 100 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

std::string short_unit(const std::string& unit) {
    if (unit == "bytes per second" || unit == "bytes") return "";
    return unit == "steps per cycle" ? "per cycle" : unit;
}

std::string number_or_dash(const std::optional<double>& value, const std::string& unit) {
    return value ? number(*value, unit) : "-";
}

}  // namespace

std::string calibration_table(const std::vector<CalibrationLine>& lines) {
    constexpr std::size_t what = 44, value = 11, range = 22, other = 10;
    std::string text = pad_right("Fact", what) + pad_left("measured", value) + pad_left("low..high", range) +
                       pad_left("table", other) + pad_left("model", other) + "  used\n";
    for (const CalibrationLine& line : lines) {
        const auto& fact = line.found;
        std::string name = line.what;
        if (const std::string unit = short_unit(fact.unit); !unit.empty()) name += ", " + unit;
        text += pad_right(shorten(name, what - 1, false), what) + pad_left(number(fact.value, fact.unit), value) +
                pad_left(number(fact.low, fact.unit) + ".." + number(fact.high, fact.unit), range) +
                pad_left(number_or_dash(line.table, fact.unit), other) +
                pad_left(number_or_dash(line.modelled, fact.unit), other) +
                (line.used             ? "  yes"
                 : fact.reason.empty() ? "  no"
                                       : "  no: " + fact.reason) +
                "\n";
    }
    return text;
}

}  // namespace tmaprobe::report
