#include "counters/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "counters/fit.h"
#include "counters/metric_placement.h"
#include "metrics/expression.h"

namespace tmaprobe::counters {
namespace {

/// Topdown groups of one PMU are the same everywhere, up to the metrics of higher levels.
bool same_topdown(const std::vector<PlannedEvent>& a, const std::vector<PlannedEvent>& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_encoding);
}

/// A run being filled with groups that all count at the same time.
struct Filling {
    Pass pass;
    std::vector<std::size_t> bundles;
    std::map<std::string, std::vector<PlannedEvent>> events;  ///< by PMU, each once
};

class Packer {
  public:
    Packer(const MetricPlacement& homes, events::PmuFormat format) : homes_(homes), format_(format) {}

    /// Puts the bundle into the first run that has room, or into a further one.
    void add(std::size_t number) {
        for (auto& filling : fillings_)
            if (try_add(filling, number)) return;
        fillings_.emplace_back();
        if (!try_add(fillings_.back(), number)) force(fillings_.back(), number);
    }

    /// Adds an event to the run that has this bundle, if a counter is left for it there.
    void add_beside(std::size_t number, const PlannedEvent& event) {
        for (auto& filling : fillings_) {
            if (std::ranges::find(filling.bundles, number) == filling.bundles.end()) continue;
            auto together = filling.events[event.definition.pmu];
            if (has(together, event)) return;
            together.push_back(event);
            if (!fits(together, homes_.limits_of(event.definition.pmu), format_)) return;
            filling.events[event.definition.pmu] = std::move(together);
            filling.pass.groups.push_back({event.definition.pmu, {event}});
            return;
        }
    }

    std::size_t runs() const { return fillings_.size(); }
    std::vector<Pass> passes() const {
        std::vector<Pass> passes;
        for (const auto& filling : fillings_) passes.push_back(filling.pass);
        return passes;
    }

  private:
    static bool has(const std::vector<PlannedEvent>& events, const PlannedEvent& wanted) {
        return std::ranges::any_of(events, [&](const auto& event) { return same_encoding(event, wanted); });
    }

    /// What of these events the run does not have yet, under their names where these matter.
    static std::vector<PlannedEvent> missing(const std::vector<PlannedEvent>& wanted,
                                             const std::vector<PlannedEvent>& there, bool by_name) {
        std::vector<PlannedEvent> rest;
        for (const auto& event : wanted) {
            const bool known = std::ranges::any_of(there, [&](const auto& other) {
                return same_encoding(event, other) && (!by_name || event.name == other.name);
            });
            if (!known) rest.push_back(event);
        }
        return rest;
    }

    /// The groups that a bundle adds to a run. A topdown group is taken whole or not at all: its metrics need their
    /// leader.
    static std::vector<EventGroup> groups_of(const Bundle& bundle, const std::vector<PlannedEvent>& there) {
        std::vector<EventGroup> groups;
        const bool topdown = !missing(bundle.topdown, there, bundle.by_name).empty();
        if (topdown) groups.push_back({bundle.pmu, bundle.topdown});
        if (auto rest = missing(bundle.ordinary, there, bundle.by_name); !rest.empty())
            groups.push_back({bundle.pmu, std::move(rest)});
        return groups;
    }

    bool try_add(Filling& filling, std::size_t number) const {
        const Bundle& bundle = homes_.bundle(number);
        auto& events = filling.events[bundle.pmu];
        const auto before = static_cast<std::ptrdiff_t>(events.size());
        auto groups = groups_of(bundle, events);
        for (const EventGroup& group : groups) events.insert(events.end(), group.events.begin(), group.events.end());
        if (!fits(events, homes_.limits_of(bundle.pmu), format_)) {
            events.erase(events.begin() + before, events.end());
            return false;
        }
        put(filling, number, std::move(groups));
        return true;
    }

    /// Although it does not fit.
    void force(Filling& filling, std::size_t number) const {
        const Bundle& bundle = homes_.bundle(number);
        auto& events = filling.events[bundle.pmu];
        auto groups = groups_of(bundle, events);
        for (const EventGroup& group : groups) events.insert(events.end(), group.events.begin(), group.events.end());
        put(filling, number, std::move(groups));
    }

    static void put(Filling& filling, std::size_t number, std::vector<EventGroup> groups) {
        std::ranges::move(groups, std::back_inserter(filling.pass.groups));
        filling.bundles.push_back(number);
    }

    const MetricPlacement& homes_;
    events::PmuFormat format_;
    std::vector<Filling> fillings_;
};

/// One run of all bundles, whose groups take turns: each has all its events, so that a metric's come from one.
Pass rotating(const MetricPlacement& homes, const std::vector<std::size_t>& bundles) {
    Pass pass;
    std::map<std::string, std::vector<PlannedEvent>> topdown;
    for (const std::size_t number : bundles) {
        const Bundle& bundle = homes.bundle(number);
        auto& shown = topdown[bundle.pmu];
        if (!bundle.topdown.empty() && !same_topdown(shown, bundle.topdown)) {
            pass.groups.push_back({bundle.pmu, bundle.topdown});
            shown = bundle.topdown;
        }
        if (!bundle.ordinary.empty()) pass.groups.push_back({bundle.pmu, bundle.ordinary});
    }
    return pass;
}

/// Over how many runs, or groups that take turns, a metric's events are spread.
std::size_t parts_of(const std::vector<std::size_t>& home, const MetricPlacement& homes, bool rotates) {
    std::map<std::string, std::size_t> parts;  // a hybrid's PMUs count apart: that is no split
    for (const std::size_t number : home) {
        const Bundle& bundle = homes.bundle(number);
        const bool apart = rotates && !bundle.topdown.empty() && !bundle.ordinary.empty();
        parts[bundle.pmu] += apart ? 2 : 1;
    }
    std::size_t most = 0;
    for (const auto& [pmu, count] : parts) most = std::max(most, count);
    return most;
}

/// What runs of different length are compared by, in each run that has a part of a split metric.
void add_references(const events::Table& table, const MetricPlacement& homes, const std::vector<std::size_t>& home,
                    Packer& packer) {
    for (const std::size_t number : home)
        for (const char* name : {"cycles", "instructions"}) {
            auto definition = events::resolve(table, name);
            if (!definition) continue;
            PlannedEvent event{name, std::move(*definition), false};
            event.definition.pmu = homes.bundle(number).pmu;
            packer.add_beside(number, event);
        }
}

void add_alone(Pass& pass, const PlannedEvent& event) {
    const bool there = std::any_of(pass.groups.begin(), pass.groups.end(), [&](const EventGroup& group) {
        return group.events.size() == 1 && group.events.front().name == event.name &&
               same_encoding(group.events.front(), event);
    });
    if (!there) pass.groups.push_back({event.definition.pmu, {event}});
}

/// Keys and encodings, so that no count is looked up by its text.
void add_keys(const events::Table& table, Plan& plan) {
    const auto add = [&](PlannedEvent& event) {
        event.key = events::key_of(table, event.definition);
        event.config = fmt::format("{:#x}", event.definition.config);
    };
    for (Pass& pass : plan.passes)
        for (EventGroup& group : pass.groups) std::ranges::for_each(group.events, add);
    std::ranges::for_each(plan.latencies, add);
}

/// The latencies at retirement that the metrics' formulas ask for.
Result<std::vector<PlannedEvent>> latencies_of(const events::Table& table, const std::vector<std::string>& metrics,
                                               const MetricPlacement& homes, const metrics::Constants& constants) {
    std::vector<PlannedEvent> latencies;
    // "EVENT:R", and "cpu_core@EVENT@R" where PMUs are told apart; most tables have neither.
    const auto asks = [](const metrics::MetricDefinition& metric) {
        return metric.expression.find(":R") != std::string::npos || metric.expression.find("@R") != std::string::npos;
    };
    if (std::ranges::none_of(table.metrics, asks)) return latencies;
    for (const auto& spelling : TRY(metrics::events_needed(table.metrics, metrics, constants))) {
        auto event = homes.plan_event(spelling);
        if (!event || !event->definition.is_latency()) continue;
        const bool known = std::ranges::any_of(latencies, [&](const auto& one) { return same_encoding(one, *event); });
        if (!known) latencies.push_back(std::move(*event));
    }
    return latencies;
}

}  // namespace

record::Event describe(const PlannedEvent& event) {
    record::Event described;
    described.name = metrics::without_escapes(event.name);
    described.pmu = event.definition.pmu.empty() ? "cpu" : event.definition.pmu;
    described.config = event.config.empty() ? fmt::format("{:#x}", event.definition.config) : event.config;
    described.key = event.key;
    return described;
}

Result<Plan> make_plan(const events::Table& table, const std::vector<std::string>& metrics,
                       const std::vector<PlannedEvent>& further_events, const std::vector<PmuLimits>& limits,
                       const metrics::Constants& constants, Policy policy) {
    MetricPlacement homes(table, limits, constants);
    Plan plan;
    plan.policy = policy;

    std::map<std::string, std::vector<std::size_t>> bundles_of;
    std::set<std::size_t> needed;
    for (const auto& metric : metrics) {
        const auto home = TRY(homes.bundles_of(metric));
        needed.insert(home.begin(), home.end());
        bundles_of[metric] = home;
    }
    std::vector<PlannedEvent> beside = homes.events_beside();
    std::vector<std::size_t> bundles(needed.begin(), needed.end());
    for (const auto& further : further_events) {
        PlannedEvent event = homes.adopt(further);
        if (homes.uses_counters(event))
            bundles.push_back(homes.add_alone(event));
        else
            beside.push_back(std::move(event));
    }

    Packer packer(homes, table.format);
    for (const std::size_t number : bundles) packer.add(number);
    const bool rotates = policy == Policy::multiplex && packer.runs() > 1;
    if (packer.runs() > 1) {
        for (const auto& metric : metrics)
            if (const std::size_t parts = parts_of(bundles_of[metric], homes, rotates); parts > 1)
                plan.split.push_back({metric, parts});
        if (!rotates)
            for (const auto& split : plan.split) add_references(table, homes, bundles_of[split.name], packer);
    }
    plan.passes = rotates ? std::vector{rotating(homes, bundles)} : packer.passes();
    if (plan.passes.empty() && !beside.empty()) plan.passes.emplace_back();
    for (const auto& event : beside) add_alone(plan.passes.front(), event);
    plan.latencies = TRY(latencies_of(table, metrics, homes, constants));
    add_keys(table, plan);
    return plan;
}

Result<std::vector<std::string>> countable(const events::Table& table, const std::vector<std::string>& metrics,
                                           const std::vector<PmuLimits>& limits, const metrics::Constants& constants) {
    const MetricPlacement homes(table, limits, constants);
    std::vector<std::string> found;
    for (const auto& metric : metrics) {
        const auto needed = TRY(metrics::events_needed(table.metrics, {metric}, constants));
        const bool possible = std::ranges::all_of(needed, [&](const std::string& spelling) {
            const auto event = homes.plan_event(spelling);
            // What nobody can count is another matter.
            if (!event || event->definition.is_latency() || !homes.uses_counters(*event)) return true;
            const PmuLimits& of_pmu = homes.limits_of(event->definition.pmu);
            if (event->metric_only) return of_pmu.has_slots;
            return allowed_counters(event->definition, of_pmu, table.format) != 0;
        });
        if (possible) found.push_back(metric);
    }
    return found;
}

std::optional<record::Warning> split_warning(const std::vector<SplitMetric>& split, Policy policy) {
    if (split.empty()) return std::nullopt;
    std::string names;
    std::size_t most = 0;
    for (const auto& metric : split) {
        names += (names.empty() ? "" : ", ") + metric.name;
        most = std::max(most, metric.parts);
    }
    const bool passes = policy == Policy::passes;
    return record::Warning{
        "split_metric",
        fmt::format("the events of {} do not fit the counters at once: they were counted in up to {} {}", names, most,
                    passes ? "runs, which are brought to one length" : "groups that took turns"),
        passes ? "low..high hold what the runs differed by" : "--passes counts each group for the whole run"};
}

}  // namespace tmaprobe::counters
