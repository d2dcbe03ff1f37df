#include "counters/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "counters/fit.h"
#include "counters/homes.h"

namespace tmaprobe::counters {
namespace {

/// A pass being filled: bundles that all count at the same time.
struct Filling {
    std::vector<std::size_t> bundles;
    std::map<std::string, std::vector<PlannedEvent>> events;  ///< by PMU, topdown groups once
    bool topdown = false;
};

/// What a bundle adds to a pass: its topdown group only if the pass has none yet.
std::vector<PlannedEvent> added_events(const Bundle& bundle, bool has_topdown) {
    return has_topdown ? bundle.ordinary : all_events(bundle);
}

/// Topdown groups of one PMU are the same everywhere, up to the metrics of higher levels.
bool same_topdown(const std::vector<PlannedEvent>& a, const std::vector<PlannedEvent>& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_encoding);
}

class Packer {
  public:
    Packer(const Homes& homes, events::PmuFormat format, Policy policy) : homes_(homes), format_(format), policy_(policy) {}

    void add(std::size_t number) {
        for (auto& pass : passes_)
            if (try_add(pass, number)) return;
        passes_.emplace_back();
        if (!try_add(passes_.back(), number)) force(passes_.back(), number);
    }

    std::vector<Pass> passes() const {
        std::vector<Pass> result;
        for (const auto& filling : passes_) {
            Pass pass;
            std::map<std::string, std::vector<PlannedEvent>> topdown;
            for (const std::size_t number : filling.bundles) {
                const Bundle& bundle = homes_.bundle(number);
                auto& shown = topdown[bundle.pmu];
                if (!bundle.topdown.empty() && !same_topdown(shown, bundle.topdown)) {
                    pass.groups.push_back({bundle.pmu, bundle.topdown});
                    shown = bundle.topdown;
                }
                if (!bundle.ordinary.empty()) pass.groups.push_back({bundle.pmu, bundle.ordinary});
            }
            result.push_back(std::move(pass));
        }
        return result;
    }

  private:
    bool try_add(Filling& pass, std::size_t number) const {
        const Bundle& bundle = homes_.bundle(number);
        if (policy_ == Policy::multiplex) {
            force(pass, number);
            return true;
        }
        auto together = pass.events[bundle.pmu];
        const bool shared = has_topdown(pass, bundle);
        const auto added = added_events(bundle, shared);
        together.insert(together.end(), added.begin(), added.end());
        if (!fits(together, homes_.limits_of(bundle.pmu), format_)) return false;
        pass.events[bundle.pmu] = std::move(together);
        pass.bundles.push_back(number);
        return true;
    }

    void force(Filling& pass, std::size_t number) const {
        const Bundle& bundle = homes_.bundle(number);
        const auto added = added_events(bundle, has_topdown(pass, bundle));
        auto& events = pass.events[bundle.pmu];
        events.insert(events.end(), added.begin(), added.end());
        pass.bundles.push_back(number);
    }

    bool has_topdown(const Filling& pass, const Bundle& bundle) const {
        return std::any_of(pass.bundles.begin(), pass.bundles.end(), [&](std::size_t number) {
            const Bundle& other = homes_.bundle(number);
            return other.pmu == bundle.pmu && !other.topdown.empty() && same_topdown(other.topdown, bundle.topdown);
        });
    }

    const Homes& homes_;
    events::PmuFormat format_;
    Policy policy_;
    std::vector<Filling> passes_;
};

/// A metric whose events do not all count at the same time is less exact; the record says so.
record::Warning split_note(const std::string& metric, std::size_t parts, Policy policy) {
    return {"split_metric",
            fmt::format("{}: its events do not fit the counters at once and are counted in {} {}", metric, parts,
                        policy == Policy::passes ? "runs" : "groups at different times"),
            policy == Policy::passes ? "its value mixes runs: compare it over repetitions"
                                     : "--passes counts each group for the whole run"};
}

/// Over how many runs, or groups that take turns, a metric's events are spread.
std::size_t parts_of(const std::vector<std::size_t>& home, const Homes& homes, Policy policy) {
    std::map<std::string, std::size_t> parts;  // a hybrid's PMUs count apart: that is no split
    for (const std::size_t number : home) {
        const Bundle& bundle = homes.bundle(number);
        const bool apart = policy == Policy::multiplex && !bundle.topdown.empty() && !bundle.ordinary.empty();
        parts[bundle.pmu] += apart ? 2 : 1;
    }
    std::size_t most = 0;
    for (const auto& [pmu, count] : parts) most = std::max(most, count);
    return most;
}

void add_alone(Pass& pass, const PlannedEvent& event) {
    const bool there = std::any_of(pass.groups.begin(), pass.groups.end(), [&](const Group& group) {
        return group.events.size() == 1 && group.events.front().name == event.name &&
               same_encoding(group.events.front(), event);
    });
    if (!there) pass.groups.push_back({event.definition.pmu, {event}});
}

}  // namespace

Result<Plan> make_plan(const events::Table& table, const std::vector<std::string>& metrics,
                       const std::vector<PlannedEvent>& further_events, const std::vector<PmuLimits>& limits,
                       const metrics::Constants& constants, Policy policy) {
    Homes homes(table, limits, constants);
    Plan plan;
    plan.policy = policy;

    std::set<std::size_t> needed;
    for (const auto& metric : metrics) {
        const auto home = homes.home_of(metric);
        if (!home) return pass_on(home);
        needed.insert(home->begin(), home->end());
        const std::size_t parts = parts_of(*home, homes, policy);
        if (parts > 1) plan.notes.push_back(split_note(metric, parts, policy));
    }
    std::vector<PlannedEvent> beside = homes.events_beside();
    std::vector<std::size_t> alone;
    for (const auto& further : further_events) {
        PlannedEvent event = homes.adopt(further);
        if (homes.uses_counters(event))
            alone.push_back(homes.add_alone(event));
        else
            beside.push_back(std::move(event));
    }

    Packer packer(homes, table.format, policy);
    for (const std::size_t number : needed) packer.add(number);
    for (const std::size_t number : alone) packer.add(number);
    plan.passes = packer.passes();
    if (plan.passes.empty() && !beside.empty()) plan.passes.emplace_back();
    for (const auto& event : beside) add_alone(plan.passes.front(), event);
    return plan;
}

}  // namespace tmaprobe::counters
