#include "report/numbers.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/sizes.h"
#include "report/text.h"

namespace tmaprobe::report {

std::string share_of(const record::Metric& metric) {
    using record::MetricUnit;
    switch (metric.unit) {
        case MetricUnit::clocks:
            return "cycles";
        case MetricUnit::slots:
        case MetricUnit::uops:
        case MetricUnit::parent:
        case MetricUnit::instructions:
            return text_of(metric.unit);
        default:
            return {};
    }
}

bool is_share(const record::Metric& metric) { return !share_of(metric).empty(); }

std::string percent(double fraction) {
    const double value = 100 * fraction;
    if (!std::isfinite(value)) return "?";
    // "-0.0%" would say that something was lost; it is rounding.
    if (std::fabs(value) < 0.05) return "0.0%";
    if (std::fabs(value) < 999.95) return fmt::format("{:.1f}%", value);
    return fmt::format("{:.2g}%", value);
}

std::string plain_number(double value) {
    if (!std::isfinite(value)) return "?";
    static constexpr std::array<const char*, 5> powers{"", "k", "M", "G", "T"};
    std::size_t power = 0;
    if (std::fabs(value) >= 10000)
        while (std::fabs(value) >= 999.5 && power + 1 < powers.size()) value /= 1000, ++power;
    const double size = std::fabs(value);
    if (power == 0 && value == std::floor(value)) return fmt::format("{:.0f}", value);
    if (size >= 99.95) return fmt::format("{:.0f}{}", value, powers[power]);
    if (size >= 9.995) return fmt::format("{:.1f}{}", value, powers[power]);
    if (size >= 0.0995) return fmt::format("{:.2f}{}", value, powers[power]);
    return fmt::format("{:.2g}{}", value, powers[power]);
}

std::string value_text(const record::Metric& metric) {
    if (!has_value(metric)) return "-";
    if (is_share(metric)) return percent(metric.value);
    const std::string number = plain_number(metric.value);
    if (metric.unit == record::MetricUnit::per_kilo_instructions) return number + " /kinstr";
    return number;
}

std::string bounds_text(const record::Metric& metric) {
    if (!has_value(metric)) return {};
    if (!std::isfinite(metric.low) || !std::isfinite(metric.high)) return "unknown";
    if (!is_share(metric)) return plain_number(metric.low) + ".." + plain_number(metric.high);
    std::string low = percent(metric.low);
    low.pop_back();
    return low + ".." + percent(metric.high);
}

std::string status_words(const record::Metric& metric) {
    return metric.status == record::Status::not_counted ? "not counted" : text_of(metric.status);
}

std::string obtained_text(const record::Run& run) {
    std::string text;
    if (!run.pages) return text;
    for (const auto& [size, bytes] : run.pages->obtained_bytes)
        if (bytes) text += (text.empty() ? "" : " + ") + format_size(bytes) + " in " + size;
    return text;
}

std::string change_text(double ratio) { return fmt::format("{:+.1f}%", 100 * (ratio - 1)); }

}  // namespace tmaprobe::report
