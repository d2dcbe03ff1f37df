#include "judge/compare.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sizes.h"
#include "judge/moved_lines.h"
#include "judge/timing_warnings.h"

namespace tmaprobe::judge {
namespace {

using record::Run;

constexpr double least_confidence = 0.95;

/// Of the repetitions that nothing disturbed; empty for a record that does not keep them.
std::vector<double> clean_times(const Run& run) {
    std::vector<double> clean;
    for (const auto& repetition : run.extra.repetitions)
        if (repetition.clean && std::isfinite(repetition.ns_per_op)) clean.push_back(repetition.ns_per_op);
    return clean;
}

bool keeps_repetitions(const Run& run) { return !run.extra.repetitions.empty(); }

/// Values that a comparison may rest on.
std::size_t usable(const Run& run) {
    if (keeps_repetitions(run)) return clean_times(run).size();
    const bool was_judged = run.time.clean + run.time.disturbed > 0;
    return was_judged ? static_cast<std::size_t>(run.time.clean) : run.time.ns_per_op.count;
}

/// Why a side cannot be compared; empty when it can.
std::string too_few(const Run& run, const std::string& name) {
    const std::size_t values = usable(run);
    if (values >= record::enough_clean) return {};
    // The record's own count says more where it agrees with what is kept.
    if (static_cast<std::size_t>(run.time.clean) == values && too_few_clean(run.time))
        return fmt::format("{}: {}", name, why_too_few(run.time));
    return fmt::format("{}: {} undisturbed value{}, and it takes {}", name, values, values == 1 ? "" : "s",
                       record::enough_clean);
}

/// Repetitions of one side that something disturbed; where the record does not say, none.
bool any_disturbed(const Run& run) {
    if (run.time.disturbed > 0) return true;
    return clean_times(run).size() < run.extra.repetitions.size();
}

Ratio time_ratio(const Run& before, const Run& after) {
    if (keeps_repetitions(before) && keeps_repetitions(after))
        return compare_ranks(clean_times(before), clean_times(after));
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

void compare_metrics(const Run& before, const Run& after, RunComparison& comparison) {
    bool mixed = false;
    for (const auto& one : before.metrics) {
        const auto other = std::find_if(after.metrics.begin(), after.metrics.end(),
                                        [&](const auto& metric) { return metric.name == one.name; });
        if (other == after.metrics.end() || !has_value(one) || !has_value(*other)) continue;
        if (one.status != other->status) {
            mixed = true;
            continue;
        }
        const bool apart = other->low > one.high || other->high < one.low;
        comparison.metrics.push_back(
            {{one.name, one.level, one.category, one.value, other->value, apart, one.status}, one.unit});
    }
    if (mixed)
        comparison.notes.push_back("metrics that are modelled on one side and measured on the other are not compared");
}

std::string interval(const Ratio& ratio) {
    const auto percent = [](double value) { return fmt::format("{:+.1f}%", 100 * (value - 1)); };
    return fmt::format("{:.0f}% interval {}..{}", std::floor(100 * std::min(ratio.confidence, least_confidence)),
                       percent(ratio.low), percent(ratio.high));
}

std::string time_sentence(const RunComparison& comparison) {
    const Ratio& ratio = comparison.time;
    const std::string both =
        fmt::format("{} against {} per {}", format_ns(comparison.after_ns), format_ns(comparison.before_ns),
                    comparison.operation.empty() ? "operation" : comparison.operation);
    if (!comparison.disturbed.empty())
        return fmt::format("{} against {}: too few undisturbed repetitions to compare ({}).", comparison.after,
                           comparison.before, comparison.disturbed);
    if (ratio.confidence < least_confidence)
        return fmt::format(
            "{} against {}: {}. {} and {} are too few repetitions to be sure of any difference: 4 of each can tell one "
            "from noise, "
            "10 also a small one (--repeat 10).",
            comparison.after, comparison.before, both, comparison.after_repetitions, comparison.before_repetitions);
    if (!ratio.differs())
        return fmt::format("{} against {}: no difference in time beyond the noise ({}; {}).", comparison.after,
                           comparison.before, both, interval(ratio));
    const bool faster = ratio.value < 1;
    return fmt::format("{} is {:.2f}x as {} as {}: {} ({}).", comparison.after, faster ? 1 / ratio.value : ratio.value,
                       faster ? "fast" : "slow", comparison.before, both, interval(ratio));
}

double size_of(const MetricChange& change) { return std::fabs(change.metric.after - change.metric.before); }

/// The metric that moved most among those that pass, beyond its bounds.
template <class Passes>
const MetricChange* largest_move(const RunComparison& comparison, Passes passes) {
    const MetricChange* largest = nullptr;
    for (const auto& change : comparison.metrics) {
        if (!change.metric.beyond_bounds || !passes(change)) continue;
        if (!largest || size_of(change) > size_of(*largest)) largest = &change;
    }
    return largest;
}

std::string move_sentence(const RunComparison& comparison, const MetricChange& change, bool other_pages) {
    const bool per_kilo = change.unit == record::MetricUnit::per_kilo_instructions;
    const auto value = [&](double number) {
        return per_kilo ? fmt::format("{:.4g}", number) : fmt::format("{:.1f}%", 100 * number);
    };
    const auto& [name, level, category, before, after, beyond_bounds, status] = change.metric;
    return fmt::format("{} {} from {} ({}) to {} ({}){}, {}.", name, after < before ? "falls" : "rises", value(before),
                       comparison.before, value(after), comparison.after, per_kilo ? " per 1000 instructions" : "",
                       other_pages && status == record::Status::modelled
                           ? "modelled with the page sizes of the guest, which this machine's TLB does not hold"
                           : text_of(status));
}

/// What was asked for: without what follows from it or from the machine.
record::RunParameters plain_parameters(const Run& run) {
    record::RunParameters parameters = run.parameters;
    parameters.cpus.clear();
    std::erase_if(parameters.options, [&](const auto& option) {
        return option.first == "pages" || record::follows(run.parameters, option.first);
    });
    parameters.derived.clear();
    return parameters;
}

record::PageKind page_kind_of(const Run& run) { return run.pages ? run.pages->requested : record::PageKind::none; }

std::string pages_of(const Run& run) { return text_of(page_kind_of(run)); }

bool same_work(const Run& one, const Run& other) {
    return one.kernel == other.kernel && one.variant == other.variant && page_kind_of(one) == page_kind_of(other) &&
           plain_parameters(one) == plain_parameters(other);
}

/// The first thing in which two runs differ, in words.
std::string difference(const Run& one, const Run& other) {
    if (one.kernel != other.kernel) return fmt::format("kernel {} and {}", one.kernel, other.kernel);
    if (one.variant != other.variant) return fmt::format("variant {} and {}", one.variant, other.variant);
    const auto words = [](const Run& run) {
        return fmt::format("{}", fmt::join(run.parameters.command.value_or(std::vector<std::string>{}), " "));
    };
    if (one.parameters.command != other.parameters.command)
        return fmt::format("command '{}' and '{}'", words(one), words(other));
    auto a = record::single_values(plain_parameters(one)), b = record::single_values(plain_parameters(other));
    std::set<std::string> keys;
    for (const auto* values : {&a, &b})
        for (const auto& [key, value] : *values) keys.insert(key);
    for (const auto& key : keys)
        if (a[key] != b[key])
            return fmt::format("{} {} and {}", key, a[key].empty() ? "none" : a[key], b[key].empty() ? "none" : b[key]);
    return fmt::format("pages {} and {}", pages_of(one), pages_of(other));
}

std::string subject_of(const Run& run) {
    std::string text = run.kernel;
    if (const auto& words = run.parameters.command; words && !words->empty())
        text = fmt::format("{}", fmt::join(*words, " "));
    if (!run.variant.empty()) text += " " + run.variant;
    if (run.parameters.size_bytes) text += ", " + format_size(*run.parameters.size_bytes);
    if (!pages_of(run).empty()) text += ", " + pages_of(run) + " pages";
    return text;
}

}  // namespace

RunComparison compare_runs(const Run& before, const Run& after, const std::string& before_name,
                           const std::string& after_name) {
    RunComparison comparison;
    comparison.before = before_name;
    comparison.after = after_name;
    comparison.subject = subject_of(before);
    comparison.operation = before.time.operation;
    comparison.timed =
        before.time.known && after.time.known && before.time.ns_per_op.median > 0 && after.time.ns_per_op.median > 0;
    compare_metrics(before, after, comparison);
    if (comparison.timed) {
        comparison.before_ns = before.time.ns_per_op.median;
        comparison.after_ns = after.time.ns_per_op.median;
        comparison.before_repetitions = usable(before);
        comparison.after_repetitions = usable(after);
        comparison.enough =
            std::min(comparison.before_repetitions, comparison.after_repetitions) >= record::enough_clean;
        for (const auto& [run, name] : {std::pair{&before, &before_name}, std::pair{&after, &after_name}})
            if (usable(*run) < record::enough_clean && any_disturbed(*run))
                comparison.disturbed += (comparison.disturbed.empty() ? "" : "; ") + too_few(*run, *name);
        if (comparison.enough) comparison.time = time_ratio(before, after);
        comparison.sentences.push_back(time_sentence(comparison));
        const Run& worse = usable(after) < usable(before) ? after : before;
        if (!comparison.disturbed.empty())
            comparison.notes.push_back("to compare them, measure again: " + what_to_do(worse.time));
    } else {
        const bool first = !before.time.known;
        comparison.notes.push_back(fmt::format(
            "no time to compare: {} has none{}", first ? before_name : after_name,
            (first ? before : after).time.reason.empty() ? "" : " (" + (first ? before : after).time.reason + ")"));
    }
    constexpr double worth_a_share = 0.01, worth_a_count = 1;
    const auto in_tree = [&](const MetricChange& change) {
        return change.metric.level >= 1 && change.metric.level <= 2 && size_of(change) >= worth_a_share;
    };
    const auto in_translation = [&](const MetricChange& change) {
        return change.metric.category == record::Category::tlb && change.metric.level == 0 &&
               change.unit == record::MetricUnit::per_kilo_instructions && size_of(change) >= worth_a_count;
    };
    const auto apart = [](const Run& run) { return record::modelled_pages_apart(run) != record::PageKind::none; };
    const bool other_pages = apart(before) || apart(after);
    if (const auto* change = largest_move(comparison, in_tree))
        comparison.sentences.push_back(move_sentence(comparison, *change, other_pages));
    if (const auto* change = largest_move(comparison, in_translation))
        comparison.sentences.push_back(move_sentence(comparison, *change, other_pages));
    if (before.extra.where && after.extra.where)
        for (std::string& sentence : moved_lines(*before.extra.where, *after.extra.where))
            comparison.sentences.push_back(std::move(sentence));
    return comparison;
}

void compare_page_modes(record::Record& record) {
    if (record.runs.size() < 2 || !record.runs.front().pages) return;
    record.extra.comparison.clear();
    for (std::size_t index = 1; index < record.runs.size(); ++index) {
        const Run& run = record.runs[index];
        const auto compared = compare_runs(record.runs.front(), run, pages_of(record.runs.front()), pages_of(run));
        record.extra.comparison.emplace_back(summary_of(compared));
    }
}

Result<std::vector<RunComparison>> compare_records(const record::Record& before, const record::Record& after,
                                                   const std::string& before_name, const std::string& after_name,
                                                   bool different) {
    std::vector<RunComparison> comparisons;
    if (before.runs.empty() || after.runs.empty())
        return fail(ErrorCode::bad_input,
                    fmt::format("{} holds no run to compare", before.runs.empty() ? before_name : after_name));
    std::vector<std::string> notes;
    const std::string &cpu_before = before.host.cpu_id, &cpu_after = after.host.cpu_id;
    if (cpu_before != cpu_after)
        notes.push_back(fmt::format("they were measured on different CPUs ({} and {})", cpu_before, cpu_after));
    if (before.source.kind != after.source.kind)
        notes.push_back(fmt::format("their counts come from different sources ({} and {})", name_of(before.source.kind),
                                    name_of(after.source.kind)));

    for (std::size_t index = 0; index < before.runs.size(); ++index) {
        const Run& one = before.runs[index];
        const Run* other = nullptr;
        for (const Run& candidate : after.runs)
            if (!other && same_work(one, candidate)) other = &candidate;
        if (!other && !different) {
            const Run& nearest = after.runs[std::min(index, after.runs.size() - 1)];
            return fail(
                ErrorCode::bad_usage,
                fmt::format("{} and {} did not do the same: {}", before_name, after_name, difference(one, nearest)),
                "--different compares them all the same");
        }
        if (!other && index < after.runs.size()) {
            other = &after.runs[index];
            if (!same_work(one, *other))
                notes.push_back(fmt::format("they did not do the same: {}", difference(one, *other)));
        }
        if (!other) continue;
        comparisons.push_back(compare_runs(one, *other, before_name, after_name));
    }
    for (auto& comparison : comparisons) comparison.notes.insert(comparison.notes.end(), notes.begin(), notes.end());
    return comparisons;
}

record::Comparison summary_of(const RunComparison& comparison) {
    record::Comparison summary{comparison.before,
                               comparison.after,
                               comparison.subject,
                               fmt::format("{}", fmt::join(comparison.sentences, " ")),
                               {},
                               comparison.notes,
                               std::nullopt};
    for (const auto& change : comparison.metrics) summary.metrics.push_back(change.metric);
    if (!comparison.timed) return summary;
    auto& time = summary.time.emplace();
    time.before_ns = comparison.before_ns;
    time.after_ns = comparison.after_ns;
    time.confidence = comparison.time.confidence;
    time.differs = comparison.time.differs();
    time.disturbed = !comparison.disturbed.empty();
    time.judged = can_judge(comparison);
    time.before_repetitions = comparison.before_repetitions;
    time.after_repetitions = comparison.after_repetitions;
    if (comparison.enough) {
        time.ratio = comparison.time.value;
        time.low = comparison.time.low;
        time.high = comparison.time.high;
    }
    return summary;
}

bool can_judge(const RunComparison& comparison) { return why_not_judged(comparison).empty(); }

std::string why_not_judged(const RunComparison& comparison) {
    if (!comparison.timed) return "there is no time on one side";
    if (!comparison.disturbed.empty()) return "too few repetitions were undisturbed: " + comparison.disturbed;
    if (comparison.time.confidence < least_confidence)
        return fmt::format("{} and {} are too few repetitions", comparison.after_repetitions,
                           comparison.before_repetitions);
    return "";
}

bool slower_than(const RunComparison& comparison, double share) {
    return can_judge(comparison) && comparison.time.low > 1 + share;
}

}  // namespace tmaprobe::judge
