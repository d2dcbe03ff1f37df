#include "judge/knees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/sizes.h"

namespace tmaprobe::judge {
namespace {

constexpr std::size_t most_bends = 12;

/// The curve in logarithms: octaves of size, natural logarithm of cost.
struct Sample {
    double x = 0, y = 0, weight = 1;
};

/// A fitted spline: level and slope at the left end, and a change of slope at each bend.
struct Spline {
    std::vector<std::size_t> bends;    ///< indices of samples
    std::vector<double> coefficients;  ///< level, slope, one change per bend
    double error = 0;                  ///< weighted sum of squares

    double at(double x, const std::vector<Sample>& samples) const {
        double y = coefficients[0] + coefficients[1] * (x - samples.front().x);
        for (std::size_t index = 0; index < bends.size(); ++index)
            y += coefficients[2 + index] * std::max(0.0, x - samples[bends[index]].x);
        return y;
    }
};

/// Solves a small symmetric system by elimination with pivoting; empty when it is singular.
std::optional<std::vector<double>> solve(std::vector<std::vector<double>> matrix, std::vector<double> right) {
    const std::size_t n = right.size();
    for (std::size_t column = 0; column < n; ++column) {
        std::size_t pivot = column;
        for (std::size_t row = column + 1; row < n; ++row)
            if (std::fabs(matrix[row][column]) > std::fabs(matrix[pivot][column])) pivot = row;
        if (std::fabs(matrix[pivot][column]) < 1e-9) return std::nullopt;
        std::swap(matrix[pivot], matrix[column]);
        std::swap(right[pivot], right[column]);
        for (std::size_t row = column + 1; row < n; ++row) {
            const double factor = matrix[row][column] / matrix[column][column];
            for (std::size_t k = column; k < n; ++k) matrix[row][k] -= factor * matrix[column][k];
            right[row] -= factor * right[column];
        }
    }
    for (std::size_t column = n; column-- > 0;) {
        for (std::size_t k = column + 1; k < n; ++k) right[column] -= matrix[column][k] * right[k];
        right[column] /= matrix[column][column];
    }
    return right;
}

/// Least squares over the basis 1, x, max(0, x - bend)...
std::optional<Spline> fit(const std::vector<Sample>& samples, std::vector<std::size_t> bends) {
    std::sort(bends.begin(), bends.end());
    const std::size_t n = bends.size() + 2;
    const auto basis = [&](const Sample& sample) {
        std::vector<double> values{1, sample.x - samples.front().x};
        for (const std::size_t bend : bends) values.push_back(std::max(0.0, sample.x - samples[bend].x));
        return values;
    };
    std::vector<std::vector<double>> matrix(n, std::vector<double>(n));
    std::vector<double> right(n);
    for (const Sample& sample : samples) {
        const auto values = basis(sample);
        for (std::size_t row = 0; row < n; ++row) {
            right[row] += sample.weight * values[row] * sample.y;
            for (std::size_t column = 0; column < n; ++column)
                matrix[row][column] += sample.weight * values[row] * values[column];
        }
    }
    auto coefficients = solve(std::move(matrix), std::move(right));
    if (!coefficients) return std::nullopt;
    Spline spline{std::move(bends), std::move(*coefficients), 0};
    for (const Sample& sample : samples) {
        const double residual = sample.y - spline.at(sample.x, samples);
        spline.error += sample.weight * residual * residual;
    }
    return spline;
}

/// Weights are inverse variances, so the error is a chi square; each bend costs two parameters, its
/// place and its change.
double criterion(const Spline& spline, std::size_t samples) {
    return spline.error + (2 + 2 * static_cast<double>(spline.bends.size())) * std::log(static_cast<double>(samples));
}

std::vector<Sample> to_samples(std::vector<CurvePoint> curve, const KneeCriteria& criteria) {
    std::sort(curve.begin(), curve.end(),
              [](const auto& one, const auto& other) { return one.size_bytes < other.size_bytes; });
    std::vector<Sample> samples;
    std::uint64_t last = 0;
    for (const CurvePoint& point : curve) {
        if (point.size_bytes == last || !(point.cost > 0) || !std::isfinite(point.cost)) continue;
        last = point.size_bytes;
        constexpr double intervals_per_sigma = 3.92;
        const double spread = std::max(0.0, point.high - point.low) / intervals_per_sigma / point.cost;
        const double sigma = std::hypot(spread, criteria.relative_floor);
        samples.push_back(
            {std::log2(static_cast<double>(point.size_bytes)), std::log(point.cost), 1 / (sigma * sigma)});
    }
    return samples;
}

std::optional<Spline> best_spline(const std::vector<Sample>& samples) {
    auto current = fit(samples, {});
    if (!current) return std::nullopt;
    Spline best = *current;
    const std::size_t bends = std::min(most_bends, samples.size() / 2);
    for (std::size_t step = 0; step < bends; ++step) {
        std::optional<Spline> next;
        for (std::size_t bend = 1; bend + 1 < samples.size(); ++bend) {
            if (std::find(current->bends.begin(), current->bends.end(), bend) != current->bends.end()) continue;
            auto tried_bends = current->bends;
            tried_bends.push_back(bend);
            auto tried = fit(samples, std::move(tried_bends));
            if (tried && (!next || tried->error < next->error)) next = std::move(tried);
        }
        if (!next) break;
        current = std::move(next);
        if (criterion(*current, samples.size()) < criterion(best, samples.size())) best = *current;
    }
    // What an early bend explained, later ones may explain better: leave out what is not missed, and move
    // what is better one sample further.
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t index = 0; index < best.bends.size() && !changed; ++index)
            for (const int step : {0, -1, 1}) {
                auto bends_now = best.bends;
                if (step == 0) {
                    bends_now.erase(bends_now.begin() + static_cast<std::ptrdiff_t>(index));
                } else {
                    bends_now[index] += static_cast<std::size_t>(step);
                    const bool taken = std::count(bends_now.begin(), bends_now.end(), bends_now[index]) > 1;
                    if (taken || bends_now[index] == 0 || bends_now[index] + 1 >= samples.size()) continue;
                }
                auto tried = fit(samples, std::move(bends_now));
                if (!tried || criterion(*tried, samples.size()) >= criterion(best, samples.size()) - 1e-9) continue;
                best = std::move(*tried);
                changed = true;
                break;
            }
    }
    return best;
}

/// Where a rise begins and how far it goes: up to the next knee, or to the highest point before it.
struct Rise {
    double from = 0, height = 0;
};

std::vector<Rise> rises_of(const Spline& spline, const std::vector<Sample>& samples, const KneeCriteria& criteria) {
    std::vector<double> starts;
    for (std::size_t index = 0; index < spline.bends.size(); ++index) {
        const double x = samples[spline.bends[index]].x;
        const bool upward = spline.coefficients[2 + index] > 0;
        if (upward && (starts.empty() || x - starts.back() >= criteria.apart_octaves)) starts.push_back(x);
    }
    std::vector<Rise> rises;
    for (std::size_t index = 0; index < starts.size(); ++index) {
        const double until = index + 1 < starts.size() ? starts[index + 1] : std::numeric_limits<double>::max();
        const double base = spline.at(starts[index], samples);
        double top = base;
        for (const Sample& sample : samples)
            if (sample.x > starts[index] && sample.x <= until + 1e-9) top = std::max(top, spline.at(sample.x, samples));
        rises.push_back({starts[index], top - base});
    }
    return rises;
}

}  // namespace

std::vector<record::Knee> find_knees(std::vector<CurvePoint> curve, const KneeCriteria& criteria) {
    std::vector<record::Knee> knees;
    const auto samples = to_samples(std::move(curve), criteria);
    if (samples.size() < least_points) return knees;
    const auto spline = best_spline(samples);
    if (!spline) return knees;
    for (const Rise& rise : rises_of(*spline, samples, criteria))
        if (rise.height >= std::log1p(criteria.least_rise))
            knees.push_back({static_cast<std::uint64_t>(std::llround(std::exp2(rise.from))), std::exp(rise.height), "",
                             record::KneeKind::found, record::PageKind::none});
    return knees;
}

bool is_cache_knee(const record::Knee& predicted) { return predicted.caused_by == record::KneeCause::cache; }

void explain_knees(std::vector<record::Knee>& found, const std::vector<record::Knee>& predicted,
                   const std::vector<std::uint64_t>& sizes) {
    constexpr double cache_within = 1, tlb_within = 0.5, late_within = 0.25, most_by_tlb = 3;  // octaves, ratio
    const auto octaves = [](std::uint64_t size) { return std::log2(static_cast<double>(size)); };
    std::vector<std::vector<std::size_t>> causes(found.size());  // of each found knee: those that are equally near
    for (std::size_t number = 0; number < found.size(); ++number) {
        const record::Knee& knee = found[number];
        const double begin = octaves(knee.size_bytes);
        double end = begin;
        for (const std::uint64_t size : sizes)
            if (size > knee.size_bytes && (end == begin || octaves(size) < end)) end = octaves(size);
        double nearest = std::numeric_limits<double>::max();
        for (std::size_t candidate = 0; candidate < predicted.size(); ++candidate) {
            const record::Knee& cause = predicted[candidate];
            if (!is_cache_knee(cause) && knee.ratio > most_by_tlb) continue;
            const double at = octaves(cause.size_bytes);
            const double early = at - end, late = begin - at;
            if (early > (is_cache_knee(cause) ? cache_within : tlb_within) || late > late_within) continue;
            const double distance = std::max({0.0, early, late});
            if (distance > nearest) continue;
            // Two causes that are equally near cannot be told apart: both are named.
            if (distance < nearest) causes[number].clear();
            causes[number].push_back(candidate);
            nearest = distance;
        }
    }
    for (std::size_t index = 1; index < found.size();) {
        record::Knee& before = found[index - 1];
        if (causes[index].empty() || causes[index] != causes[index - 1]) {
            ++index;
            continue;
        }
        before.ratio *= found[index].ratio;
        found.erase(found.begin() + static_cast<std::ptrdiff_t>(index));
        causes.erase(causes.begin() + static_cast<std::ptrdiff_t>(index));
    }
    for (std::size_t number = 0; number < found.size(); ++number)
        for (const std::size_t cause : causes[number]) {
            record::Knee& knee = found[number];
            if (knee.caused_by == record::KneeCause::unknown) knee.caused_by = predicted[cause].caused_by;
            knee.cause += (knee.cause.empty() ? "" : " or ") + predicted[cause].cause;
        }
}

std::string describe_knees(const std::vector<record::Knee>& found) {
    if (found.empty()) return "no knee";
    std::string text;
    for (const record::Knee& knee : found) {
        const std::string rise =
            knee.ratio < 2 ? fmt::format("+{:.0f}%", 100 * (knee.ratio - 1)) : fmt::format("x{:.1f}", knee.ratio);
        text += fmt::format("{}{} from {}", text.empty() ? "" : ", ", rise, format_size(knee.size_bytes));
        text += fmt::format(" ({})", knee.cause.empty() ? "not predicted" : knee.cause);
    }
    return text;
}

}  // namespace tmaprobe::judge
