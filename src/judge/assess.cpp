#include "judge/assess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/suggest.h"
#include "events/model_tree.h"
#include "judge/bottleneck.h"
#include "judge/count_index.h"
#include "judge/metric_unit.h"
#include "judge/pass_lengths.h"
#include "judge/pmus.h"
#include "judge/prepared.h"
#include "metrics/expression.h"
#include "metrics/formulas.h"

namespace tmaprobe::judge {

namespace {

using metrics::MetricDefinition;
using metrics::MetricValue;
using metrics::Outcome;

bool is_hybrid(const events::Table& table) {
    return std::ranges::any_of(table.metrics,
                               [](const MetricDefinition& metric) { return metric.pmu == "cpu_atom"; }) &&
           std::ranges::any_of(table.metrics, [](const MetricDefinition& metric) { return metric.pmu == "cpu_core"; });
}

}  // namespace

std::string choose_pmu(const events::Table& table, const std::vector<record::Event>& events, const std::string& asked) {
    if (!asked.empty() || !is_hybrid(table)) return asked;
    const std::string counted = pmus_of(events).front();
    return counted.empty() ? "cpu_core" : counted;
}

namespace {

int rank_of(const std::string& category) {
    static constexpr std::array<std::string_view, 4> order = {"frontend", "bad_speculation", "backend", "retiring"};
    return static_cast<int>(std::ranges::find(order, category) - order.begin());
}

/// Appends the children of `parent` (the roots for "") and below, depth first.
void append_tree(const std::vector<const MetricDefinition*>& nodes, const std::string& parent, int level,
                 std::vector<std::string>& names) {
    for (const MetricDefinition* node : nodes) {
        if (node->level != level || (level > 1 && node->parent != parent)) continue;
        if (std::ranges::find(names, node->name) != names.end()) continue;
        names.push_back(node->name);
        append_tree(nodes, node->name, level + 1, names);
    }
}

metrics::Constants complete_constants(const events::Table& table, const metrics::Constants& given) {
    metrics::Constants constants = given;
    if (constants.cpu_id.empty()) constants.cpu_id = table.cpu_id;
    if (!constants.has_event)
        constants.has_event = [&table](std::string_view name) { return events::resolve(table, name).has_value(); };
    // A machine without the count says 0, which no CPU has.
    if (table.slots_per_cycle && constants.values["#slots"] == 0) constants.values["#slots"] = *table.slots_per_cycle;
    if (constants.values["#slots"] == 0) constants.values.erase("#slots");
    return constants;
}

/// A table is asked for an event once, not in each evaluation.
std::function<bool(std::string_view)> asked_once(std::function<bool(std::string_view)> has_event) {
    return [has_event = std::move(has_event),
            known = std::map<std::string, bool, std::less<>>()](std::string_view name) mutable {
        const auto found = known.find(name);
        return found != known.end() ? found->second : known.emplace(name, has_event(name)).first->second;
    };
}

}  // namespace

namespace {

/// Of "EVENT:R": as it was sampled, else as its vendor published it.
std::optional<LatencyValue> latency_of(const events::EventDefinition& event, const events::EventKey& key,
                                       const std::vector<record::RetireLatency>& sampled) {
    if (!event.is_latency()) return std::nullopt;
    for (const auto& one : sampled)
        if (one.key == key && one.missing == record::NoLatency::none)
            return LatencyValue{{one.mean, one.low, one.high}, true};
    if (!event.retire_latency) return std::nullopt;
    const double mean = event.retire_latency->mean;
    return LatencyValue{{mean, mean, mean}, false};
}

}  // namespace

Result<Prepared> prepare(const events::Table& table, const std::string& pmu, const AssessRequest& request) {
    Prepared prepared;
    for (const MetricDefinition& metric : table.metrics)
        if (pmu.empty() || metric.pmu.empty() || metric.pmu == pmu) prepared.definitions.push_back(metric);
    auto& wanted = prepared.wanted;
    for (const std::string& name : request.metrics)
        for (std::size_t i = 0; i < prepared.definitions.size(); ++i)
            if (prepared.definitions[i].name == name) wanted.push_back(i);
    if (wanted.empty()) return prepared;
    prepared.formulas = TRY(metrics::Formulas::compile(prepared.definitions, wanted));
    prepared.constants = complete_constants(table, request.constants);
    prepared.constants.has_event = asked_once(std::move(prepared.constants.has_event));
    prepared.events_of = prepared.formulas.events_per_metric(prepared.constants);
    for (const auto& events : prepared.events_of)
        for (const std::string& text : events) {
            if (prepared.spellings.contains(text)) continue;
            const auto event = events::resolve(table, text);
            if (!event) continue;  // the formula will say what it misses
            const auto key = events::key_of(table, *event);
            prepared.spellings[text] = {text, key, latency_of(*event, key, request.latencies)};
        }
    return prepared;
}

Groups choose_groups(const Prepared& prepared, const CountIndex& index) {
    Groups groups;
    for (const auto& events : prepared.events_of) {
        std::vector<events::EventKey> keys;
        for (const std::string& text : events)
            if (const auto spelling = prepared.spellings.find(text); spelling != prepared.spellings.end())
                keys.push_back(spelling->second.key);
        groups.push_back(index.groups_for(keys));
    }
    return groups;
}

double unit_factor(const Spelling& spelling) { return spelling.key.pmu == "tool" ? 1e-9 : 1; }

namespace {

metrics::Counts counts_from(const Prepared& prepared, const CountIndex& index, const std::vector<GroupId>& preferred,
                            const PassFactors& factors) {
    metrics::Counts counts;
    for (const auto& [text, spelling] : prepared.spellings) {
        if (const record::Event* event = index.find(spelling.key, preferred)) {
            metrics::Count& count = counts[text] = index.count_of(*event);
            double factor = 1;
            if (const auto of_pass = factors.find(event->pass); of_pass != factors.end()) factor = of_pass->second;
            factor *= unit_factor(spelling);
            for (double* part : {&count.value, &count.low, &count.high}) *part *= factor;
        } else if (spelling.latency)
            counts[text] = spelling.latency->cycles;
    }
    return counts;
}

void hold(const MetricValue& other, MetricValue& value) {
    if (other.outcome != Outcome::value || value.outcome != Outcome::value) return;
    value.low = std::min(value.low, other.low);
    value.high = std::max(value.high, other.high);
}

/// Each wanted metric on these counts, its events from one group where one has them all. What was counted in runs
/// of different length is brought to one length, and low..high hold what else it may have been.
std::vector<MetricValue> evaluate(const Prepared& prepared, const CountIndex& index, const Groups& groups_of,
                                  const PassLengths& lengths) {
    std::map<std::vector<GroupId>, std::vector<std::size_t>> metrics_by_groups;
    for (std::size_t i = 0; i < prepared.events_of.size(); ++i) metrics_by_groups[groups_of[i]].push_back(i);
    std::vector<MetricValue> values(prepared.events_of.size());
    for (const auto& [groups, members] : metrics_by_groups) {
        std::set<int> passes;
        for (const GroupId& group : groups) passes.insert(group.first);
        auto alternatives = lengths.factors(passes);
        if (alternatives.empty()) alternatives.emplace_back();
        for (std::size_t way = 0; way < alternatives.size(); ++way) {
            auto all =
                prepared.formulas.evaluate(counts_from(prepared, index, groups, alternatives[way]), prepared.constants);
            for (const std::size_t member : members)
                if (way == 0)
                    values[member] = std::move(all[member]);
                else
                    hold(all[member], values[member]);
        }
    }
    return values;
}

/// Narrows the bounds of shares whose events were all counted in one multiplexed group.
///
/// What such a group's events were scaled by is common to them and cancels in a share; what stays is that
/// the share was sampled, in k of n rotation slices without replacement. A quantity within 0..1 of mean p
/// has at most the variance p(1-p), so 1.96 sqrt(p(1-p)(1-k/n)/k) bounds it at 95% without any assumption
/// about phases; moving every event by its own error, as evaluate() does, does not know that they agree.
void narrow_shares(const Prepared& prepared, const CountIndex& index, const Groups& groups_of,
                   std::vector<MetricValue>& values) {
    constexpr double rotation_ns = 4e6;  // the kernel's slowest default
    for (std::size_t i = 0; i < values.size(); ++i) {
        MetricValue& value = values[i];
        const UnitConversion scale = unit_conversion_of(prepared.definitions[value.definition]);
        const double share = value.value * scale.factor;
        if (value.outcome != Outcome::value || !scale.share || share < 0 || share > 1) continue;
        const auto& groups = groups_of[i];
        // An estimate's limits say what its events cannot tell apart, however well they were counted.
        if (groups.size() != 1 || prepared.definitions[value.definition].approximate) continue;
        double counted_ns = 0, enabled_ns = 0;
        bool taken = false;  // a gap in one piece is no sample, and a sampled latency has bounds of its own
        for (const std::string& text : prepared.events_of[i]) {
            const auto spelling = prepared.spellings.find(text);
            if (spelling == prepared.spellings.end()) continue;
            if (spelling->second.latency && spelling->second.latency->sampled) {
                taken = true;
            } else if (const record::Event* event = index.find(spelling->second.key, groups)) {
                counted_ns = static_cast<double>(event->reading.time_running_ns);
                enabled_ns = static_cast<double>(event->reading.time_enabled_ns);
                taken = taken || event->note == record::Note::counters_taken;
            }
        }
        if (taken || counted_ns <= 0 || counted_ns >= enabled_ns) continue;
        const double slices = std::max(1.0, counted_ns / rotation_ns);
        const double half =
            1.96 * std::sqrt(share * (1 - share) * (1 - counted_ns / enabled_ns) / slices) / scale.factor;
        value.low = std::max(value.low, value.value - half);
        value.high = std::min(value.high, value.value + half);
    }
}

/// Widens bounds by the spread of each metric over single repetitions or variations.
void widen(const Prepared& prepared, const events::Table& table, const AssessRequest& request,
           std::vector<MetricValue>& values) {
    for (const auto* sets : {&request.repetitions, &request.variations})
        for (const auto& events : *sets) {
            const CountIndex index(table, events, request.status != record::Status::measured);
            auto others = evaluate(prepared, index, choose_groups(prepared, index), PassLengths(table, events));
            for (std::size_t i = 0; i < values.size(); ++i) {
                if (!prepared.definitions[others[i].definition].approximate)
                    others[i].low = others[i].high = others[i].value;
                hold(others[i], values[i]);
            }
        }
}

/// Share of time counted of the metric's least counted event, and what else is to be said of its events.
void judge_events(const Prepared& prepared, const CountIndex& index, const std::vector<GroupId>& groups,
                  std::size_t metric, record::Metric& result) {
    for (const std::string& text : prepared.events_of[metric]) {
        const auto spelling = prepared.spellings.find(text);
        const std::string shown = metrics::without_escapes(text);
        if (spelling == prepared.spellings.end()) {
            result.reason = fmt::format("the table has no event '{}'", shown);
            continue;
        }
        const record::Event* event = index.find(spelling->second.key, groups);
        if (!event) {
            if (spelling->second.latency && !spelling->second.latency->sampled)
                result.warnings.push_back("latency_from_table");
            else if (spelling->second.key.latency && !spelling->second.latency)
                result.reason =
                    fmt::format("its vendor has not published the latency at retirement that {} stands for", shown);
            if (const auto why = index.refused(spelling->second.key); !why.empty())
                result.reason = fmt::format("{} {}", shown, why);
            continue;
        }
        const auto& reading = event->reading;
        if (reading.time_enabled_ns > 0)
            result.counted_share = std::min(result.counted_share, static_cast<double>(reading.time_running_ns) /
                                                                      static_cast<double>(reading.time_enabled_ns));
    }
    std::ranges::sort(result.warnings);
    const auto repeated = std::ranges::unique(result.warnings);
    result.warnings.erase(repeated.begin(), repeated.end());
}

void flag_impossible(const UnitConversion& scale, record::Metric& metric) {
    constexpr double rounding = 1e-9;
    if (metric.value < -rounding) metric.warnings.push_back("negative");
    if (scale.share && metric.value > 1 + rounding) metric.warnings.push_back("above_one");
}

}  // namespace

record::Metric describe(const MetricDefinition& definition, const UnitConversion& scale) {
    record::Metric metric;
    metric.name = definition.name;
    metric.level = definition.level;
    metric.parent = definition.parent;
    // A category that a user's tables made up is none that a reader would know.
    metric.category = value_named<record::Category>(definition.category).value_or(record::Category::other);
    metric.subcategory = definition.subcategory;
    metric.unit = scale.unit;
    metric.says = definition.says;
    metric.next = definition.next;
    metric.larger_pages = definition.larger_pages;
    metric.description = definition.description;
    metric.formula = metrics::without_escapes(definition.expression);
    return metric;
}

namespace {

record::Metric judge(const Prepared& prepared, const CountIndex& index, const Groups& groups_of,
                     const MetricValue& value, std::size_t place, record::Status status) {
    const MetricDefinition& definition = prepared.definitions[value.definition];
    const UnitConversion scale = unit_conversion_of(definition);
    record::Metric metric = describe(definition, scale);
    judge_events(prepared, index, groups_of[place], place, metric);
    if (value.outcome != Outcome::value) {
        metric.status =
            value.outcome == Outcome::not_counted ? record::Status::not_counted : record::Status::unavailable;
        if (metric.reason.empty()) metric.reason = value.reason;
        return metric;
    }
    metric.status = definition.approximate ? record::Status::approximate : status;
    metric.reason.clear();
    metric.value = value.value * scale.factor;
    metric.low = value.low * scale.factor;
    metric.high = value.high * scale.factor;
    metric.over_threshold = value.over_threshold;
    if (definition.project_threshold) metric.over_threshold = metric.value > *definition.project_threshold;
    if (!value.bounded) metric.warnings.push_back("unbounded");
    flag_impossible(scale, metric);
    return metric;
}

}  // namespace

Result<std::vector<std::string>> choose_metrics(const events::Table& table, int level,
                                                const std::vector<std::string>& further) {
    std::vector<const MetricDefinition*> nodes;
    for (const MetricDefinition& metric : table.metrics)
        if (metric.level >= 1 && metric.level <= level) nodes.push_back(&metric);
    std::ranges::stable_sort(nodes, {}, [](const MetricDefinition* node) { return rank_of(node->category); });
    std::vector<std::string> names;
    append_tree(nodes, "", 1, names);
    // A node whose parent the table lacks is no less wanted.
    for (const MetricDefinition* node : nodes)
        if (std::ranges::find(names, node->name) == names.end()) names.push_back(node->name);

    const auto add = [&](const std::string& name) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    const bool own_tree = level >= 1 && events::has_estimated_tree(table);
    for (const MetricDefinition& metric : table.metrics)
        if (own_tree && metric.below_tree) add(metric.name);
    for (const MetricDefinition& metric : table.metrics)
        if (own_tree && metric.category == "tlb") add(metric.name);
    for (const std::string& asked : further) {
        const bool translation = asked == "tlb";
        bool found = false;
        for (const MetricDefinition& metric : table.metrics) {
            if (translation ? metric.category != "tlb" && metric.subcategory != "tlb" : metric.name != asked) continue;
            add(metric.name);
            found = true;
        }
        if (found) continue;
        std::vector<std::string> all = {"tlb"};
        for (const MetricDefinition& metric : table.metrics) all.push_back(metric.name);
        std::string hint = suggest(asked, all);
        if (hint.empty()) hint = fmt::format("tmaprobe list metrics --target {} shows what there is", table.folder);
        return fail(ErrorCode::bad_usage, fmt::format("no metric '{}' on {}", asked, table.folder), hint);
    }
    return names;
}

std::vector<record::Metric> assess_prepared(const Prepared& prepared, const events::Table& table,
                                            const std::vector<record::Event>& events, const AssessRequest& request) {
    const CountIndex index(table, events, request.status != record::Status::measured);
    const Groups groups = choose_groups(prepared, index);
    std::vector<MetricValue> values = evaluate(prepared, index, groups, PassLengths(table, events));
    narrow_shares(prepared, index, groups, values);
    widen(prepared, table, request, values);
    std::vector<record::Metric> metrics;
    for (std::size_t i = 0; i < values.size(); ++i)
        metrics.push_back(judge(prepared, index, groups, values[i], i, request.status));
    mark_bottleneck(metrics);
    return metrics;
}

Result<std::vector<record::Metric>> assess(const events::Table& table, const std::vector<record::Event>& events,
                                           const AssessRequest& request) {
    const auto prepared = TRY(prepare(table, choose_pmu(table, events, request.pmu), request));
    return assess_prepared(prepared, table, events, request);
}

}  // namespace tmaprobe::judge
