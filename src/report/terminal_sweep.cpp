#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "report/answer.h"
#include "report/findings.h"
#include "report/numbers.h"
#include "report/screen.h"
#include "report/series.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

/// Where a value lies on an axis of the plot, 0..1; logarithmic where the values span decades.
struct Scale {
    double low = 0, high = 1;
    bool logarithmic = false;

    double place(double value) const {
        if (high <= low) return 0.5;
        if (logarithmic) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
        return (value - low) / (high - low);
    }
    double at(double place) const {
        if (logarithmic) return low * std::pow(high / low, place);
        return low + place * (high - low);
    }
};

Scale scale_over(const Curves& curves, double PlottedPoint::* field, bool from_zero) {
    Scale scale{std::numeric_limits<double>::max(), 0, false};
    for (const auto& series : curves.series)
        for (const auto& point : series.points) {
            scale.low = std::min(scale.low, point.*field);
            scale.high = std::max(scale.high, point.*field);
        }
    scale.logarithmic = scale.low > 0 && scale.high / scale.low > 12;
    if (from_zero && !scale.logarithmic) scale.low = 0;
    return scale;
}

void show_curve_table(Screen& screen, const Curves& curves) {
    std::vector<std::vector<std::string>> rows{{screen.say(curves.axis == "size_bytes" ? "size" : curves.axis)}};
    std::map<double, std::vector<const PlottedPoint*>> by_x;
    for (std::size_t s = 0; s < curves.series.size(); ++s) {
        rows[0].push_back(screen.say(curves.series[s].label));
        for (const auto& point : curves.series[s].points) {
            auto& cells = by_x[point.x];
            cells.resize(curves.series.size());
            cells[s] = &point;
        }
    }
    bool any_doubtful = false;
    for (const auto& series : curves.series)
        any_doubtful |= std::any_of(series.points.begin(), series.points.end(), is_doubtful);
    for (const auto& [x, points] : by_x) {
        rows.push_back({axis_text(curves, x)});
        for (const auto* point : points) {
            std::string cell = point ? quantity_text(curves, point->value) : "-";
            // A blank under the mark keeps the units of a column in line.
            if (any_doubtful) cell += point && is_doubtful(*point) ? "~" : " ";
            rows.back().push_back(cell);
        }
    }
    screen.table(rows);
    if (any_doubtful)
        screen.line(screen.ink(Ink::dim, "~ other work disturbed it: fewer than three clean repetitions"));
}

/// A line below the plot with one mark per knee of this kind.
void show_knee_marks(Screen& screen, const Scale& x, const std::vector<record::Knee>& knees, record::KneeKind kind,
                     std::size_t margin, std::size_t columns) {
    std::string marks(columns, ' ');
    bool any = false;
    for (const auto& knee : knees) {
        const double place = x.place(static_cast<double>(knee.size_bytes));
        if (knee.kind != kind || place < 0 || place > 1) continue;
        marks[static_cast<std::size_t>(std::lround(place * static_cast<double>(columns - 1)))] = '^';
        any = true;
    }
    if (any) screen.line(pad_left(text_of(kind), margin - 1) + " " + marks);
}

void show_plot(Screen& screen, const Curves& curves, const std::vector<record::Knee>& knees) {
    const Scale x = scale_over(curves, &PlottedPoint::x, false), y = scale_over(curves, &PlottedPoint::value, true);
    constexpr std::size_t height = 12, margin = 11;
    const std::size_t columns = std::min<std::size_t>(screen.width() - margin - 1, 100);
    const std::vector<std::string> glyphs =
        screen.ascii() ? std::vector<std::string>{"o", "x", "+", "#"} : std::vector<std::string>{"●", "○", "▲", "△"};
    std::vector<std::vector<std::string>> grid(height, std::vector<std::string>(columns, " "));
    for (std::size_t s = 0; s < curves.series.size(); ++s)
        for (const auto& point : curves.series[s].points) {
            const auto column =
                static_cast<std::size_t>(std::lround(x.place(point.x) * static_cast<double>(columns - 1)));
            const auto row = static_cast<std::size_t>(std::lround((1 - y.place(point.value)) * (height - 1)));
            auto& cell = grid[std::min(row, height - 1)][std::min(column, columns - 1)];
            cell = cell == " " ? glyphs[s % glyphs.size()] : screen.either("◆", "@");
        }
    for (std::size_t row = 0; row < height; ++row) {
        const bool labelled = row % 3 == 0 || row + 1 == height;
        const double value = y.at(1 - static_cast<double>(row) / (height - 1));
        std::string text =
            pad_left(labelled ? quantity_text(curves, value) : "", margin - 2) + screen.either(" │", " |");
        for (const auto& cell : grid[row]) text += cell;
        screen.line(text);
    }
    std::string axis(margin - 1, ' ');
    axis += screen.either("└", "+");
    for (std::size_t i = 0; i < columns; ++i) axis += screen.either("─", "-");
    screen.line(axis);
    const std::string first = axis_text(curves, x.low), last = axis_text(curves, x.high);
    screen.line(std::string(margin, ' ') + pad_right(first, columns - width_of(last)) + last);
    show_knee_marks(screen, x, knees, record::KneeKind::predicted, margin, columns);
    show_knee_marks(screen, x, knees, record::KneeKind::found, margin, columns);
    std::string legend;
    for (std::size_t s = 0; s < curves.series.size(); ++s)
        legend += fmt::format("{}{} {}", s ? "   " : "", glyphs[s % glyphs.size()], screen.say(curves.series[s].label));
    if (curves.series.size() > 1) legend += fmt::format("   {} both", screen.either("◆", "@"));
    screen.entry("", legend, margin);
}

/// Whether a name has all words of another and more: "l1_misses_4k_pki" is of "l1_misses_pki".
bool is_part_of(const std::string& part, const std::string& whole) {
    const auto words = [](const std::string& name) {
        std::set<std::string> all;
        for (std::size_t at = 0; at < name.size();) {
            const auto end = std::min(name.find('_', at), name.size());
            all.insert(name.substr(at, end - at));
            at = end + 1;
        }
        return all;
    };
    const auto more = words(part), fewer = words(whole);
    return more.size() > fewer.size() && std::ranges::includes(more, fewer);
}

/// The translation metrics that the curves are drawn beside: rates rather than counts, which only tell how long a point
/// ran, and the largest of each unit. Those that are 0 at every size go to `zeros`.
std::vector<std::string> metrics_beside(const Curves& curves, std::vector<std::string>& zeros) {
    struct Candidate {
        std::string name;
        record::MetricUnit unit = record::MetricUnit::none;
        double peak = 0;
    };
    std::vector<Candidate> candidates;
    for (const auto& series : curves.series)
        for (const auto& point : series.points)
            for (const auto& metric : point.run->metrics) {
                if (metric.category != record::Category::tlb || !has_value(metric)) continue;
                if (is_bare_count(*point.run, metric)) continue;
                auto at = std::ranges::find(candidates, metric.name, &Candidate::name);
                if (at == candidates.end()) at = candidates.insert(at, {metric.name, metric.unit, 0});
                at->peak = std::max(at->peak, std::fabs(metric.value));
            }
    // The total before its parts, which are as large where there is one part only.
    std::ranges::stable_sort(candidates, [](const auto& one, const auto& other) {
        return std::pair(-one.peak, one.name.size()) < std::pair(-other.peak, other.name.size());
    });
    constexpr std::size_t most = 4, most_of_unit = 2;
    std::vector<std::string> names;
    std::map<record::MetricUnit, std::size_t> of_unit;
    for (const auto& candidate : candidates) {
        if (candidate.peak == 0)
            zeros.push_back(candidate.name);
        else if (std::ranges::any_of(names, [&](const auto& name) { return is_part_of(candidate.name, name); }))
            continue;
        else if (names.size() < most && ++of_unit[candidate.unit] <= most_of_unit)
            names.push_back(candidate.name);
    }
    return names;
}

/// The status that all values of a metric along the curves have; empty: several.
std::string one_status(const Curves& curves, const std::string& name) {
    std::string status;
    for (const auto& series : curves.series)
        for (const auto& point : series.points) {
            const auto* metric = find_metric(*point.run, name);
            if (!metric || !has_value(*metric)) continue;
            if (!status.empty() && status != text_of(metric->status)) return {};
            status = text_of(metric->status);
        }
    return status;
}

/// Counters under the curve: translation metrics by size, one table each, a column per curve.
void show_sweep_metrics(Screen& screen, const Curves& curves) {
    std::vector<std::string> zeros;
    const auto names = metrics_beside(curves, zeros);
    for (const auto& name : names) {
        const std::string status = one_status(curves, name);
        bool per_kilo = false;
        std::vector<std::vector<std::string>> rows{{screen.say(curves.axis == "size_bytes" ? "size" : curves.axis)}};
        std::map<double, std::vector<std::string>> by_x;
        for (std::size_t s = 0; s < curves.series.size(); ++s) {
            rows[0].push_back(screen.say(curves.series[s].label));
            for (const auto& point : curves.series[s].points) {
                auto& cells = by_x[point.x];
                cells.resize(curves.series.size(), "-");
                const auto* metric = find_metric(*point.run, name);
                if (!metric) continue;
                const std::string of_its_own = status.empty() ? " " + text_of(metric->status) : "";
                per_kilo = metric->unit == record::MetricUnit::per_kilo_instructions;
                const std::string value = per_kilo ? plain_number(metric->value) : value_text(*metric);
                cells[s] = screen.say(has_value(*metric) ? value + of_its_own : status_words(*metric));
            }
        }
        for (const auto& [x, cells] : by_x) {
            rows.push_back({axis_text(curves, x)});
            rows.back().insert(rows.back().end(), cells.begin(), cells.end());
        }
        screen.line();
        const std::string heading =
            screen.say(name) + (per_kilo ? ", per 1000 instructions" : "") + (status.empty() ? "" : ", " + status);
        for (const auto& line : wrap(heading, screen.width())) screen.line(screen.ink(Ink::bold, line));
        screen.table(rows);
    }
    if (!zeros.empty()) screen.line();
    show_left_out(screen, "0 at every size", zeros);
}

}  // namespace

void show_sweep_heading(Screen& screen, const record::Record& record) {
    screen.entry("Sweep", subject_of(record));
    for (const auto& run : record.runs)
        if (!run.time.known) screen.entry("", run_label(run) + ", pages " + pages_label(run) + ": " + run.time.reason);
}

void show_sweep(Screen& screen, const record::Record& record) {
    const Curves curves = curves_of(record);
    if (curves.series.empty()) return;
    const auto& knees = record.extra.knees;
    if (!knees.empty()) screen.line();
    for (const auto& knee : knees) screen.entry("Knee", knee_sentence(knee));
    screen.line();
    show_plot(screen, curves, knees);
    screen.line();
    show_curve_table(screen, curves);
    show_sweep_metrics(screen, curves);
}

/// Which of eight steps from low to high a value stands on. Halves, so that no distance is beyond a double.
std::size_t step_of(double value, double low, double high) {
    const double span = high / 2 - low / 2;
    return span > 0 ? static_cast<std::size_t>(std::clamp(std::lround((value / 2 - low / 2) / span * 7), 0L, 7L)) : 0;
}

/// The range of a line of steps is at least what is worth seeing, 5 points of a share, a tenth of any other value:
/// a line over less would show noise at full height.
void widen_to_what_matters(const record::Metric* metric, double& low, double& high) {
    const double largest = std::max(std::fabs(low), std::fabs(high));
    const double least = metric && is_share(*metric) ? 0.05 : 0.1 * largest;
    if (const double lacks = least - (high - low); lacks > 0) low -= lacks / 2, high += lacks / 2;
}

void show_series(Screen& screen, const record::Run& run) {
    const auto& series = run.extra.series;
    if (series.empty()) return;
    std::map<std::string, std::vector<double>> lines;
    for (const auto& interval : series)
        for (const auto& [name, value] : interval.metrics.empty() ? interval.events : interval.metrics)
            lines[name].push_back(value.value_or(std::nan("")));
    screen.line();
    const std::string heading = fmt::format("{} intervals: min..max, then one character per interval", series.size());
    for (const auto& line : wrap(heading, screen.width())) screen.line(screen.ink(Ink::dim, line));
    const std::vector<std::string> steps = screen.ascii()
                                               ? std::vector<std::string>{"_", ".", "-", "=", "+", "*", "#", "@"}
                                               : std::vector<std::string>{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const std::size_t names = screen.width() >= 60 ? 30 : 12;
    constexpr std::size_t range = 18;  // "min..max" and what is between the columns
    const std::size_t room = std::max<std::size_t>(8, screen.width() - std::min(screen.width(), names + range));
    for (const auto& [name, values] : lines) {
        double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
        for (const double value : values)
            if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
        if (high < low) continue;
        const double lowest = low, highest = high;
        widen_to_what_matters(find_metric(run, name), low, high);
        const std::size_t stride = (values.size() + room - 1) / room;
        std::string drawn;
        for (std::size_t i = 0; i < values.size(); i += stride)
            drawn += std::isfinite(values[i]) ? steps[step_of(values[i], low, high)] : " ";
        screen.line(pad_right(shorten(screen.say(name), names, screen.ascii()), names) + " " +
                    pad_left(plain_number(lowest) + ".." + plain_number(highest), 15) + "  " + drawn);
    }
}

}  // namespace tmaprobe::report
