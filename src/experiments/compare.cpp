#include "experiments/compare.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/sizes.h"
#include "experiments/timing_words.h"

namespace tmaprobe::experiments {
namespace {

using nlohmann::json;
using record::Run;

constexpr double least_confidence = 0.95;

/// Of the repetitions that nothing disturbed; empty for a record that does not keep them.
std::vector<double> clean_times(const Run& run) {
    std::vector<double> clean;
    const auto list = run.extra.find("repetitions");
    if (list == run.extra.end() || !list->is_array()) return {};
    for (const auto& entry : *list) {
        if (!entry.is_object() || !entry.contains("ns_per_op") || !entry["ns_per_op"].is_number()) continue;
        const double ns = entry["ns_per_op"].get<double>();
        if (!entry.contains("clean") || entry["clean"] == true) clean.push_back(ns);
    }
    return clean;
}

bool keeps_repetitions(const Run& run) {
    const auto list = run.extra.find("repetitions");
    return list != run.extra.end() && list->is_array() && !list->empty();
}

/// Values that a comparison may rest on.
std::size_t usable(const Run& run) {
    if (keeps_repetitions(run)) return clean_times(run).size();
    const bool was_judged = run.time.clean + run.time.disturbed > 0;
    return was_judged ? static_cast<std::size_t>(run.time.clean) : run.time.ns_per_op.count;
}

/// Why a side cannot be compared; empty when it can.
std::string too_few(const Run& run, const std::string& name) {
    const std::size_t values = usable(run);
    if (values >= enough_clean) return {};
    // The record's own count says more where it agrees with what is kept.
    if (static_cast<std::size_t>(run.time.clean) == values && too_few_clean(run.time)) return fmt::format("{}: {}", name, why_too_few(run.time));
    return fmt::format("{}: {} undisturbed value{}, and it takes {}", name, values, values == 1 ? "" : "s", enough_clean);
}

/// Repetitions of one side that something disturbed; where the record does not say, none.
bool any_disturbed(const Run& run) {
    if (run.time.disturbed > 0) return true;
    const auto list = run.extra.find("repetitions");
    return keeps_repetitions(run) && clean_times(run).size() < list->size();
}

Ratio time_ratio(const Run& before, const Run& after) {
    if (keeps_repetitions(before) && keeps_repetitions(after)) return compare_ranks(clean_times(before), clean_times(after));
    // Without the repetitions: the ends of two intervals bound the ratio, wider than need be.
    const Summary &a = before.time.ns_per_op, &b = after.time.ns_per_op;
    Ratio ratio;
    if (!(a.median > 0) || !(b.median > 0)) return ratio;
    ratio.value = b.median / a.median;
    const bool known = a.low > 0 && b.low > 0 && std::min(a.count, b.count) >= 4;
    ratio.low = known ? b.low / a.high : ratio.value;
    ratio.high = known ? b.high / a.low : ratio.value;
    ratio.confidence = known ? least_confidence : 0;
    return ratio;
}

bool has_value(const record::Metric& metric) { return metric.status != "unavailable" && metric.status != "not_counted"; }

void compare_metrics(const Run& before, const Run& after, Comparison& comparison) {
    bool mixed = false;
    for (const auto& one : before.metrics) {
        const auto other = std::find_if(after.metrics.begin(), after.metrics.end(), [&](const auto& metric) { return metric.name == one.name; });
        if (other == after.metrics.end() || !has_value(one) || !has_value(*other)) continue;
        if (one.status != other->status) {
            mixed = true;
            continue;
        }
        MetricChange change{one.name, one.category, one.parent, one.unit, one.level, one.value, other->value, false, one.status};
        change.beyond_bounds = other->low > one.high || other->high < one.low;
        comparison.metrics.push_back(change);
    }
    if (mixed) comparison.notes.push_back("metrics that are modelled on one side and measured on the other are not compared");
}

std::string interval(const Ratio& ratio) {
    const auto percent = [](double value) { return fmt::format("{:+.1f}%", 100 * (value - 1)); };
    return fmt::format("{:.0f}% interval {}..{}", std::floor(100 * std::min(ratio.confidence, least_confidence)), percent(ratio.low), percent(ratio.high));
}

std::string time_sentence(const Comparison& comparison) {
    const Ratio& ratio = comparison.time;
    const std::string both = fmt::format("{} against {} per {}", format_ns(comparison.after_ns), format_ns(comparison.before_ns),
                                         comparison.operation.empty() ? "operation" : comparison.operation);
    if (!comparison.disturbed.empty())
        return fmt::format("{} against {}: too few undisturbed repetitions to compare ({}).", comparison.after, comparison.before, comparison.disturbed);
    if (ratio.confidence < least_confidence)
        return fmt::format("{} against {}: {}. {} and {} are too few repetitions to be sure of any difference: 4 of each can tell one from noise, "
                           "10 also a small one (--repeat 10).", comparison.after, comparison.before, both, comparison.after_repetitions,
                           comparison.before_repetitions);
    if (!ratio.differs())
        return fmt::format("{} against {}: no difference in time beyond the noise ({}; {}).", comparison.after, comparison.before, both, interval(ratio));
    const bool faster = ratio.value < 1;
    return fmt::format("{} is {:.2f}x as {} as {}: {} ({}).", comparison.after, faster ? 1 / ratio.value : ratio.value, faster ? "fast" : "slow",
                       comparison.before, both, interval(ratio));
}

/// The metric that moved most among those that pass, beyond its bounds.
template <class Passes>
const MetricChange* largest_move(const Comparison& comparison, Passes passes) {
    const MetricChange* largest = nullptr;
    for (const auto& change : comparison.metrics) {
        if (!change.beyond_bounds || !passes(change)) continue;
        if (!largest || std::fabs(change.after - change.before) > std::fabs(largest->after - largest->before)) largest = &change;
    }
    return largest;
}

std::string move_sentence(const Comparison& comparison, const MetricChange& change, bool other_pages) {
    const bool per_kilo = change.unit == "per_kilo_instructions";
    const auto value = [&](double number) { return per_kilo ? fmt::format("{:.4g}", number) : fmt::format("{:.1f}%", 100 * number); };
    return fmt::format("{} {} from {} ({}) to {} ({}){}, {}.", change.name, change.after < change.before ? "falls" : "rises", value(change.before),
                       comparison.before, value(change.after), comparison.after, per_kilo ? " per 1000 instructions" : "",
                       other_pages && change.status == "modelled" ? "modelled with the page sizes of the guest, which this machine's TLB does not hold"
                                                                  : change.status);
}

json plain_parameters(const Run& run) {
    json parameters = run.parameters;
    for (const char* follows : {"cpus", "iterations", "pages"}) parameters.erase(follows);
    return parameters;
}

std::string pages_of(const Run& run) { return run.pages ? run.pages->requested : std::string(); }

bool same_work(const Run& one, const Run& other) {
    return one.kernel == other.kernel && one.variant == other.variant && pages_of(one) == pages_of(other) &&
           plain_parameters(one) == plain_parameters(other);
}

/// The first thing in which two runs differ, in words.
std::string difference(const Run& one, const Run& other) {
    if (one.kernel != other.kernel) return fmt::format("kernel {} and {}", one.kernel, other.kernel);
    if (one.variant != other.variant) return fmt::format("variant {} and {}", one.variant, other.variant);
    const json a = plain_parameters(one), b = plain_parameters(other);
    std::set<std::string> keys;
    for (const json* parameters : {&a, &b})
        for (const auto& [key, value] : parameters->items()) keys.insert(key);
    for (const auto& key : keys) {
        const json first = a.value(key, json()), second = b.value(key, json());
        if (first != second) return fmt::format("{} {} and {}", key, first.dump(), second.dump());
    }
    return fmt::format("pages {} and {}", pages_of(one), pages_of(other));
}

std::string subject_of(const Run& run) {
    std::string text = run.kernel;
    if (const auto words = run.parameters.find("command"); words != run.parameters.end() && words->is_array() && !words->empty()) {
        text.clear();
        for (const auto& word : *words)
            if (word.is_string()) text += (text.empty() ? "" : " ") + word.get<std::string>();
    }
    if (!run.variant.empty()) text += " " + run.variant;
    if (const auto size = run.parameters.find("size_bytes"); size != run.parameters.end() && size->is_number_unsigned())
        text += ", " + format_size(size->get<std::uint64_t>());
    if (!pages_of(run).empty()) text += ", " + pages_of(run) + " pages";
    return text;
}

}  // namespace

Comparison compare_runs(const Run& before, const Run& after, const std::string& before_name, const std::string& after_name) {
    Comparison comparison;
    comparison.before = before_name;
    comparison.after = after_name;
    comparison.subject = subject_of(before);
    comparison.operation = before.time.operation;
    comparison.timed = before.time.known && after.time.known && before.time.ns_per_op.median > 0 && after.time.ns_per_op.median > 0;
    compare_metrics(before, after, comparison);
    if (comparison.timed) {
        comparison.before_ns = before.time.ns_per_op.median;
        comparison.after_ns = after.time.ns_per_op.median;
        comparison.before_repetitions = usable(before);
        comparison.after_repetitions = usable(after);
        comparison.enough = std::min(comparison.before_repetitions, comparison.after_repetitions) >= enough_clean;
        for (const auto& [run, name] : {std::pair{&before, &before_name}, std::pair{&after, &after_name}})
            if (usable(*run) < enough_clean && any_disturbed(*run)) comparison.disturbed += (comparison.disturbed.empty() ? "" : "; ") + too_few(*run, *name);
        if (comparison.enough) comparison.time = time_ratio(before, after);
        comparison.sentences.push_back(time_sentence(comparison));
        const Run& worse = usable(after) < usable(before) ? after : before;
        if (!comparison.disturbed.empty()) comparison.notes.push_back("to compare them, measure again: " + what_to_do(worse.time));
    } else {
        const bool first = !before.time.known;
        comparison.notes.push_back(fmt::format("no time to compare: {} has none{}", first ? before_name : after_name,
                                               (first ? before : after).time.reason.empty() ? "" : " (" + (first ? before : after).time.reason + ")"));
    }
    constexpr double worth_a_share = 0.01, worth_a_count = 1;
    const auto moved = [](const MetricChange& metric) { return std::fabs(metric.after - metric.before); };
    const auto in_tree = [&](const MetricChange& metric) { return metric.level >= 1 && metric.level <= 2 && moved(metric) >= worth_a_share; };
    const auto in_translation = [&](const MetricChange& metric) {
        return metric.category == "tlb" && metric.level == 0 && metric.unit == "per_kilo_instructions" && moved(metric) >= worth_a_count;
    };
    const bool other_pages = !record::modelled_pages_apart(before).empty() || !record::modelled_pages_apart(after).empty();
    if (const auto* change = largest_move(comparison, in_tree)) comparison.sentences.push_back(move_sentence(comparison, *change, other_pages));
    if (const auto* change = largest_move(comparison, in_translation)) comparison.sentences.push_back(move_sentence(comparison, *change, other_pages));
    return comparison;
}

void compare_page_modes(record::Record& record) {
    if (record.runs.size() < 2 || !record.runs.front().pages) return;
    json list = json::array();
    for (std::size_t index = 1; index < record.runs.size(); ++index) {
        const Run& run = record.runs[index];
        list.push_back(comparison_json(compare_runs(record.runs.front(), run, pages_of(record.runs.front()), pages_of(run))));
    }
    record.extra["comparison"] = std::move(list);
}

Result<std::vector<Comparison>> compare_records(const record::Record& before, const record::Record& after, const std::string& before_name,
                                                const std::string& after_name, bool different) {
    std::vector<Comparison> comparisons;
    if (before.runs.empty() || after.runs.empty())
        return fail(ErrorCode::bad_input, fmt::format("{} holds no run to compare", before.runs.empty() ? before_name : after_name));
    std::vector<std::string> notes;
    const auto cpu = [](const record::Record& record) { return record.host.is_object() ? record.host.value("cpu_id", std::string()) : std::string(); };
    if (cpu(before) != cpu(after)) notes.push_back(fmt::format("they were measured on different CPUs ({} and {})", cpu(before), cpu(after)));
    if (before.source.kind != after.source.kind) notes.push_back(fmt::format("their counts come from different sources ({} and {})", before.source.kind, after.source.kind));

    for (std::size_t index = 0; index < before.runs.size(); ++index) {
        const Run& one = before.runs[index];
        const Run* other = nullptr;
        for (const Run& candidate : after.runs)
            if (!other && same_work(one, candidate)) other = &candidate;
        if (!other && !different) {
            const Run& nearest = after.runs[std::min(index, after.runs.size() - 1)];
            return fail(ErrorCode::bad_usage, fmt::format("{} and {} did not do the same: {}", before_name, after_name, difference(one, nearest)),
                        "--different compares them all the same");
        }
        if (!other && index < after.runs.size()) {
            other = &after.runs[index];
            if (!same_work(one, *other)) notes.push_back(fmt::format("they did not do the same: {}", difference(one, *other)));
        }
        if (!other) continue;
        comparisons.push_back(compare_runs(one, *other, before_name, after_name));
    }
    for (auto& comparison : comparisons) comparison.notes.insert(comparison.notes.end(), notes.begin(), notes.end());
    return comparisons;
}

json comparison_json(const Comparison& comparison) {
    std::string what;
    for (const auto& sentence : comparison.sentences) what += (what.empty() ? "" : " ") + sentence;
    json metrics = json::array();
    for (const auto& change : comparison.metrics)
        metrics.push_back({{"name", change.name}, {"level", change.level}, {"category", change.category}, {"before", change.before},
                           {"after", change.after}, {"beyond_bounds", change.beyond_bounds}, {"of", change.status}});
    json object = {{"before", comparison.before}, {"after", comparison.after}, {"subject", comparison.subject}, {"what", what},
                   {"metrics", std::move(metrics)}, {"notes", comparison.notes}, {"time", nullptr}};
    if (comparison.timed)
        object["time"] = {{"before_ns", comparison.before_ns}, {"after_ns", comparison.after_ns}, {"ratio", nullptr}, {"low", nullptr},
                          {"high", nullptr}, {"confidence", comparison.time.confidence}, {"differs", comparison.time.differs()},
                          {"disturbed", !comparison.disturbed.empty()}, {"judged", can_judge(comparison)},
                          {"before_repetitions", comparison.before_repetitions}, {"after_repetitions", comparison.after_repetitions}};
    if (comparison.timed && comparison.enough)
        object["time"].update({{"ratio", comparison.time.value}, {"low", comparison.time.low}, {"high", comparison.time.high}});
    return object;
}

bool can_judge(const Comparison& comparison) { return why_not_judged(comparison).empty(); }

std::string why_not_judged(const Comparison& comparison) {
    if (!comparison.timed) return "there is no time on one side";
    if (!comparison.disturbed.empty()) return "too few repetitions were undisturbed: " + comparison.disturbed;
    if (comparison.time.confidence < least_confidence)
        return fmt::format("{} and {} are too few repetitions", comparison.after_repetitions, comparison.before_repetitions);
    return "";
}

bool slower_than(const Comparison& comparison, double share) { return can_judge(comparison) && comparison.time.low > 1 + share; }

}  // namespace tmaprobe::experiments
