#include "counters/metric_placement.h"

#include <algorithm>

#include "counters/fit.h"

namespace tmaprobe::counters {
namespace {

bool contains(const std::vector<PlannedEvent>& events, const PlannedEvent& wanted) {
    return std::any_of(events.begin(), events.end(), [&](const auto& event) { return same_encoding(event, wanted); });
}

void add_once(std::vector<PlannedEvent>& events, const PlannedEvent& event) {
    if (!contains(events, event)) events.push_back(event);
}

/// A core PMU by one of the names that tables use for "this machine's": perf's "cpu", Arm's first.
bool is_generic_core_name(const std::string& pmu) {
    return pmu.empty() || pmu == "cpu" || pmu == "default_core" || pmu.rfind("armv8_pmuv3", 0) == 0;
}

/// Metrics outside of the tree that share groups; empty: this one has its own.
std::string family_of(const metrics::MetricDefinition& metric) {
    if (metric.level > 0) return {};
    if (metric.category == "tlb") return "tlb";
    return metric.below_tree ? "below the tree" : "";
}

}  // namespace

std::vector<PlannedEvent> all_events(const Bundle& bundle) {
    auto events = bundle.topdown;
    events.insert(events.end(), bundle.ordinary.begin(), bundle.ordinary.end());
    return events;
}

MetricPlacement::MetricPlacement(const events::Table& table, const std::vector<PmuLimits>& limits,
                                 const metrics::Constants& constants)
    : table_(table), limits_(limits), constants_(constants) {
    if (limits_.empty()) limits_.emplace_back();
}

const PmuLimits& MetricPlacement::limits_of(const std::string& pmu) const {
    const auto found =
        std::find_if(limits_.begin(), limits_.end(), [&](const auto& limits) { return limits.pmu == pmu; });
    return found == limits_.end() ? limits_.front() : *found;
}

bool MetricPlacement::uses_counters(const PlannedEvent& event) const {
    return std::any_of(limits_.begin(), limits_.end(),
                       [&](const auto& limits) { return limits.pmu == event.definition.pmu; });
}

PlannedEvent MetricPlacement::adopt(PlannedEvent event) const {
    auto& pmu = event.definition.pmu;
    if (is_generic_core_name(pmu) && !(pmu == "cpu" && limits_.size() > 1)) pmu = limits_.front().pmu;
    event.metric_only = is_topdown_metric(event.definition, table_.format);
    return event;
}

Result<PlannedEvent> MetricPlacement::plan_event(const std::string& spelling) const {
    auto definition = TRY(events::resolve(table_, spelling));
    return adopt({spelling, std::move(definition), false});
}

std::size_t MetricPlacement::add_alone(const PlannedEvent& event) {
    Bundle bundle{event.definition.pmu, {}, {}, true};
    if (event.metric_only)
        bundle.topdown = {topdown_of(bundle.pmu).front(), event};
    else
        bundle.ordinary = {event};
    bundles_.push_back(std::move(bundle));
    return bundles_.size() - 1;
}

Result<MetricPlacement::Inputs> MetricPlacement::inputs_of(const std::string& metric) {
    if (const auto known = inputs_.find(metric); known != inputs_.end()) return known->second;
    const auto needed = TRY(metrics::events_needed(table_.metrics, {metric}, constants_));
    Inputs inputs;
    for (const auto& spelling : needed) {
        auto event = TRY(plan_event(spelling));
        if (event.definition.is_latency()) continue;  // stands in the table, is never counted
        if (uses_counters(event))
            add_once(inputs, event);
        else
            add_once(beside_, event);
    }
    return inputs_[metric] = std::move(inputs);
}

/// The one topdown group of a PMU: slots, then every topdown event that levels 1 and 2 of the tree use.
/// Reading all of PERF_METRICS costs no more than reading one field of it.
const std::vector<PlannedEvent>& MetricPlacement::topdown_of(const std::string& pmu) {
    const auto known = topdown_.find(pmu);
    if (known != topdown_.end()) return known->second;
    Inputs slots, metrics;
    for (const auto& metric : table_.metrics) {
        if (metric.level < 1 || metric.level > 2) continue;
        const auto inputs = inputs_of(metric.name);
        if (!inputs) continue;
        for (const auto& event : *inputs) {
            if (event.definition.pmu != pmu) continue;
            if (event.metric_only)
                add_once(metrics, event);
            else if (is_slots(event.definition, table_.format))
                add_once(slots, event);
        }
    }
    PlannedEvent leader{"slots", {}, false};
    leader.definition.name = "slots";
    leader.definition.pmu = pmu;
    leader.definition.config = 0x400;
    leader.definition.counters = "Fixed counter 3";
    Inputs all = {slots.empty() ? leader : slots.front()};
    all.insert(all.end(), metrics.begin(), metrics.end());
    return topdown_[pmu] = std::move(all);
}

/// Adds a metric's inputs if the bundle still fits the PMU with them.
bool MetricPlacement::try_add(Bundle& bundle, const Inputs& inputs) {
    Bundle larger = bundle;
    const bool has_topdown =
        std::any_of(inputs.begin(), inputs.end(), [](const auto& event) { return event.metric_only; });
    if (has_topdown && larger.topdown.empty()) larger.topdown = topdown_of(bundle.pmu);
    for (const auto& event : inputs) {
        const bool under_slots =
            event.metric_only || (is_slots(event.definition, table_.format) && !larger.topdown.empty());
        add_once(under_slots ? larger.topdown : larger.ordinary, event);
    }
    if (!fits(all_events(larger), limits_of(bundle.pmu), table_.format)) return false;
    bundle = std::move(larger);
    return true;
}

/// Bundles for inputs that do not fit at once: what the tree's earlier levels count already is taken from
/// there, the rest goes on in order.
std::vector<std::size_t> MetricPlacement::spread(const std::string& pmu, Inputs inputs,
                                                 std::vector<std::size_t>& shared,
                                                 const std::vector<std::size_t>& earlier) {
    std::vector<std::size_t> home;
    const auto take = [&](std::size_t number) {
        const auto held = all_events(bundles_[number]);
        const auto rest =
            std::partition(inputs.begin(), inputs.end(), [&](const auto& event) { return !contains(held, event); });
        if (inputs.end() - rest < 2) return;
        inputs.erase(rest, inputs.end());
        home.push_back(number);
    };
    for (const std::size_t number : earlier)
        if (bundles_[number].pmu == pmu) take(number);
    const auto roomy = std::find_if(shared.begin(), shared.end(), [&](std::size_t number) {
        return !inputs.empty() && bundles_[number].pmu == pmu && try_add(bundles_[number], inputs);
    });
    if (roomy != shared.end()) {
        home.push_back(*roomy);
        inputs.clear();
    }
    while (!inputs.empty()) {
        Bundle bundle{pmu, {}, {}, false};
        Inputs left;
        for (const auto& event : inputs)
            if (!try_add(bundle, {event})) left.push_back(event);
        if (left.size() == inputs.size()) {  // fits nowhere: the kernel will say so
            bundle.ordinary.push_back(left.front());
            left.erase(left.begin());
        }
        shared.push_back(bundles_.size());
        home.push_back(bundles_.size());
        bundles_.push_back(std::move(bundle));
        inputs = std::move(left);
    }
    std::sort(home.begin(), home.end());
    return home;
}

/// Finds a metric's home among the bundles that its level shares, or opens new ones.
Result<std::vector<std::size_t>> MetricPlacement::settle(const std::string& metric, std::vector<std::size_t>& shared,
                                                         const std::vector<std::size_t>& earlier) {
    auto inputs = TRY(inputs_of(metric));
    std::map<std::string, Inputs> by_pmu;
    for (auto& event : inputs) by_pmu[event.definition.pmu].push_back(event);

    std::vector<std::size_t> home;
    for (auto& [pmu, events] : by_pmu) {
        const auto same =
            std::find_if(shared.begin(), shared.end(), [&, &wanted_pmu = pmu, &wanted = events](std::size_t number) {
                return bundles_[number].pmu == wanted_pmu && try_add(bundles_[number], wanted);
            });
        if (same != shared.end()) {
            home.push_back(*same);
            continue;
        }
        Bundle bundle{pmu, {}, {}, false};
        if (try_add(bundle, events)) {
            shared.push_back(bundles_.size());
            home.push_back(bundles_.size());
            bundles_.push_back(std::move(bundle));
            continue;
        }
        const auto several = spread(pmu, events, shared, earlier);
        home.insert(home.end(), several.begin(), several.end());
    }
    return home;
}

void MetricPlacement::settle_level(int level) {
    if (!settled_levels_.insert(level).second) return;
    std::vector<std::size_t> shared;
    std::vector<std::string> too_large;
    const auto settle_one = [&](const std::string& metric, const std::vector<std::size_t>& earlier) {
        // A sibling that cannot be planned (an event nobody knows) must not take the others with it; it
        // is an error only when it is asked for itself.
        if (auto home = settle(metric, shared, earlier)) homes_[metric] = std::move(*home);
    };
    for (const auto& metric : table_.metrics) {
        if (metric.level != level || homes_.contains(metric.name)) continue;
        if (fits_alone(metric.name))
            settle_one(metric.name, {});
        else if (std::find(too_large.begin(), too_large.end(), metric.name) == too_large.end())
            too_large.push_back(metric.name);
    }
    // Those that fit nowhere whole come last, so that they can lean on what the others count.
    for (const auto& metric : too_large) {
        auto earlier = shared;
        earlier.insert(earlier.end(), tree_.begin(), tree_.end());
        settle_one(metric, earlier);
    }
    tree_.insert(tree_.end(), shared.begin(), shared.end());
}

void MetricPlacement::settle_family(const std::string& family) {
    if (family.empty() || !settled_families_.insert(family).second) return;
    std::vector<std::size_t> shared;
    for (const auto& metric : table_.metrics)
        if (family_of(metric) == family && !homes_.contains(metric.name))
            // As in a level: one that cannot be planned is an error only when it is asked for itself.
            if (auto home = settle(metric.name, shared, {})) homes_[metric.name] = std::move(*home);
}

bool MetricPlacement::fits_alone(const std::string& metric) {
    const auto inputs = inputs_of(metric);
    if (!inputs) return true;  // settle() meets the same error
    std::map<std::string, Bundle> by_pmu;
    for (const auto& event : *inputs) by_pmu[event.definition.pmu].ordinary.push_back(event);
    return std::all_of(by_pmu.begin(), by_pmu.end(), [&](const auto& entry) {
        Bundle bundle{entry.first, {}, {}, false};
        return try_add(bundle, entry.second.ordinary);
    });
}

Result<std::vector<std::size_t>> MetricPlacement::bundles_of(const std::string& metric) {
    const auto definition = std::find_if(table_.metrics.begin(), table_.metrics.end(),
                                         [&](const auto& candidate) { return candidate.name == metric; });
    if (definition != table_.metrics.end() && definition->level > 0)
        for (int level = 1; level <= definition->level; ++level) settle_level(level);
    if (definition != table_.metrics.end()) settle_family(family_of(*definition));
    if (const auto found = homes_.find(metric); found != homes_.end()) return found->second;
    std::vector<std::size_t> alone;
    auto home = settle(metric, alone, {});
    if (!home) return home;
    homes_[metric] = *home;
    return home;
}

}  // namespace tmaprobe::counters
