// What a sweep's curves say: knees per page mode, and where one mode beats another.
#include "judge/sweep_findings.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/sizes.h"
#include "judge/knees.h"
#include "judge/predicted_knees.h"
#include "judge/timing_warnings.h"

namespace tmaprobe::judge {
namespace {

/// One page mode's points, ascending.
struct ModeCurve {
    record::PageKind kind = record::PageKind::none;
    std::string pages;
    std::string effective;  ///< page size of the TLB's entries; "" not known
    std::vector<CurvePoint> points;
    int left_out = 0;                         ///< doubtful points
    std::uint64_t smallest = 0, largest = 0;  ///< of all points, doubtful ones too
};

std::vector<ModeCurve> curves_of(const record::Record& record) {
    std::vector<ModeCurve> curves;
    for (const auto& run : record.runs) {
        if (!run.time.known || !run.pages || !run.parameters.size_bytes) continue;
        auto curve = std::find_if(curves.begin(), curves.end(),
                                  [&](const auto& one) { return one.kind == run.pages->requested; });
        if (curve == curves.end())
            curve = curves.insert(
                curves.end(),
                {run.pages->requested, text_of(run.pages->requested), text_of(run.pages->effective), {}, 0, 0, 0});
        const Summary& time = run.time.ns_per_op;
        const std::uint64_t size = *run.parameters.size_bytes;
        if (curve->smallest == 0 || size < curve->smallest) curve->smallest = size;
        curve->largest = std::max(curve->largest, size);
        if (too_few_clean(run.time))
            ++curve->left_out;
        else
            curve->points.push_back({size, time.median, time.low, time.high});
    }
    for (auto& curve : curves)
        std::sort(curve.points.begin(), curve.points.end(),
                  [](const auto& one, const auto& other) { return one.size_bytes < other.size_bytes; });
    return curves;
}

/// Predicted knees within the sizes swept (a knee at the last size could not be seen).
std::vector<record::Knee> predicted_within(const machine::Host& host, const ModeCurve& curve) {
    const std::string name = curve.effective.empty() ? curve.pages : curve.effective;
    const auto page = parse_size(name == "thp" ? "2m" : name);
    std::vector<record::Knee> knees = predicted_knees(host, page ? *page : 4096);
    std::erase_if(
        knees, [&](const auto& knee) { return knee.size_bytes < curve.smallest || knee.size_bytes >= curve.largest; });
    return knees;
}

/// A large rise below the size of the last cache, which nothing else explains: its share is smaller.
void name_contention(std::vector<record::Knee>& found, const machine::Host& host) {
    const machine::Cache* last = nullptr;
    std::uint64_t before = 0;
    for (const auto& cache : host.caches) {
        if (cache.kind == "instruction") continue;
        if (last) before = std::max(before, last->size_bytes);
        if (!last || cache.level > last->level) last = &cache;
    }
    if (!last || last->level < 3) return;
    constexpr double large = 2;
    for (auto& knee : found)
        if (knee.caused_by == record::KneeCause::unknown && knee.ratio > large && knee.size_bytes > before &&
            knee.size_bytes < last->size_bytes) {
            knee.caused_by = record::KneeCause::part_of_cache;
            knee.cause =
                fmt::format("only a part of the L{} cache {} is to be had", last->level, format_size(last->size_bytes));
        }
}

/// "4k: +31% from 6M (L2 TLB reach 6M)"; a curve of too few points is not said to be without knees.
std::string sentence_of(const ModeCurve& curve, const std::vector<record::Knee>& found) {
    std::string sentence = fmt::format("{}: {}", curve.pages, describe_knees(found));
    if (curve.points.size() < least_points)
        sentence = fmt::format("{}: too few points to look for knees: {} of the {} that it takes", curve.pages,
                               curve.points.size(), least_points);
    const bool split = curve.effective == "4k" && curve.pages != "4k";
    if (split)
        sentence += "; the TLB holds 4k entries, so its reach is predicted for those";
    else if (!curve.effective.empty() && curve.effective != curve.pages && curve.pages != "thp")
        sentence +=
            fmt::format("; the TLB's entries are {} at least, and its reach is predicted for those", curve.effective);
    if (curve.left_out > 0)
        sentence += fmt::format("; {} with fewer than {} undisturbed repetitions {} left out",
                                curve.left_out == 1 ? "1 point" : fmt::format("{} points", curve.left_out),
                                record::enough_clean, curve.left_out == 1 ? "is" : "are");
    return sentence;
}

/// Where the two modes differ most, among sizes whose confidence intervals do not touch.
std::string compare_modes(const ModeCurve& base, const ModeCurve& other) {
    double most = 0;
    bool comparable = false;
    const CurvePoint* at_base = nullptr;
    const CurvePoint* at_other = nullptr;
    for (const CurvePoint& one : base.points)
        for (const CurvePoint& two : other.points) {
            if (one.size_bytes != two.size_bytes || !(one.cost > 0) || !(two.cost > 0)) continue;
            comparable = true;
            const bool apart = two.high < one.low || two.low > one.high;
            const double difference = std::fabs(std::log(one.cost / two.cost));
            if (!apart || difference <= most) continue;
            most = difference;
            at_base = &one;
            at_other = &two;
        }
    if (!comparable)
        return fmt::format("{} against {}: at no size do both have an undisturbed point", other.pages, base.pages);
    constexpr double worth_saying = 0.02;
    if (!at_base || most < worth_saying)
        return fmt::format("{} against {}: no difference beyond the noise at any size", other.pages, base.pages);
    const bool faster = at_other->cost < at_base->cost;
    return fmt::format("{} against {}: {:.2f}x {} at {} ({} against {}), the largest difference", other.pages,
                       base.pages, std::exp(most), faster ? "faster" : "slower", format_size(at_base->size_bytes),
                       format_ns(at_other->cost), format_ns(at_base->cost));
}

}  // namespace

void judge_sweep(record::Record& record, const machine::Host& host) {
    record.extra.knees.clear();
    record.extra.verdicts.clear();
    const auto add = [&](record::Knee knee, record::PageKind pages) {
        knee.pages = pages;
        record.extra.knees.push_back(std::move(knee));
    };
    const auto curves = curves_of(record);
    for (const ModeCurve& curve : curves) {
        const auto predicted = predicted_within(host, curve);
        for (const auto& knee : predicted) {
            // Caches do not depend on the page mode: they are listed once.
            if (is_cache_knee(knee) && &curve != &curves.front()) continue;
            add(knee, is_cache_knee(knee) ? record::PageKind::none : curve.kind);
        }
        auto found = find_knees(curve.points);
        std::vector<std::uint64_t> sizes;
        for (const CurvePoint& point : curve.points) sizes.push_back(point.size_bytes);
        explain_knees(found, predicted, sizes);
        name_contention(found, host);
        for (const auto& knee : found) add(knee, curve.kind);
        record.extra.verdicts.push_back(sentence_of(curve, found));
    }
    for (std::size_t index = 1; index < curves.size(); ++index)
        record.extra.verdicts.push_back(compare_modes(curves.front(), curves[index]));
    record.extra.axis = "size_bytes";
    // A kernel that streams is about bytes per second; one that follows pointers, about the time of each load.
    const bool moves_bytes = std::any_of(record.runs.begin(), record.runs.end(),
                                         [](const auto& run) { return run.extra.bus_bytes_per_second.has_value(); });
    record.extra.quantity = moves_bytes ? record::CurveQuantity::bandwidth : record::CurveQuantity::latency;
}

}  // namespace tmaprobe::judge
