#include "experiments/interference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "counters/resctrl/group.h"
#include "experiments/child.h"
#include "experiments/neighbour.h"
#include "experiments/measure.h"
#include "experiments/point.h"
#include "experiments/setup.h"

namespace tmaprobe::experiments {
namespace {

namespace resctrl = counters::resctrl;

/// One condition under which the victim is measured.
struct State {
    std::string name;
    bool loaded = false;
    std::optional<std::string> victim_schemata, aggressor_schemata;  ///< empty: no group of its own
    bool monitored = false;  ///< groups are made even without limits, for their monitors
};

/// What one state gave over the rounds.
struct Outcomes {
    std::vector<record::Record> records;
    std::vector<double> ns_per_op;
};

record::Warning no_resctrl(const Error& error) {
    return {"no_resctrl", "the neighbour cannot be limited, nor the victim protected: " + error.what, error.hint};
}

/// Alone and loaded always; limited and protected where resctrl can do what was asked.
Result<std::vector<State>> choose_states(const InterferenceRequest& request, const Result<resctrl::Info>& info) {
    const bool monitored = info && !info->monitors.empty();
    std::vector<State> states{{"alone", false, {}, {}, monitored}, {"with neighbour", true, {}, {}, monitored}};
    const auto add = [&](const char* name, const std::optional<resctrl::Limit>& limit, bool victim) -> Result<> {
        if (!limit || !info) return {};
        auto schemata = resctrl::schemata_for(*info, *limit);
        if (!schemata) return pass_on(schemata);
        State state{name, true, {}, {}, monitored};
        (victim ? state.victim_schemata : state.aggressor_schemata) = *schemata;
        states.push_back(std::move(state));
        return {};
    };
    if (const auto limited = add("neighbour limited", request.limit, false); !limited) return pass_on(limited);
    if (const auto shielded = add("victim protected", request.protect, true); !shielded) return pass_on(shielded);
    return states;
}

/// A group with its schemata, where the state wants one.
Result<std::optional<resctrl::Group>> make_group(const Result<resctrl::Info>& info, bool wanted, const char* label,
                                                 const std::optional<std::string>& schemata) {
    if (!info || !wanted) return std::optional<resctrl::Group>{};
    auto group = resctrl::Group::create(*info, label);
    if (!group) return pass_on(group);
    if (schemata)
        if (const auto assigned = group->assign(*schemata); !assigned) return pass_on(assigned);
    return std::optional<resctrl::Group>(std::move(*group));
}

/// Bandwidth monitors run on since the group was made: what this measurement moved is the difference.
/// Occupancy is what it is.
record::Event moved_since(const record::Event& before, record::Event after) {
    if (after.name.starts_with("mbm_") && after.reading.raw >= before.reading.raw) {
        after.reading.raw -= before.reading.raw;
        after.reading.value = static_cast<double>(after.reading.raw);
    }
    return after;
}

/// One measurement of the victim in one state; its groups live no longer than this call.
Result<record::Record> measure_state(const State& state, const Subject& victim, const Subject& aggressor,
                                     const Result<resctrl::Info>& info, const InterferenceHooks& hooks) {
    auto victim_group = make_group(info, state.monitored || state.victim_schemata, "victim", state.victim_schemata);
    if (!victim_group) return pass_on(victim_group);
    auto aggressor_group = make_group(info, state.loaded && (state.monitored || state.aggressor_schemata), "neighbour",
                                      state.aggressor_schemata);
    if (!aggressor_group) return pass_on(aggressor_group);

    std::optional<Neighbour> neighbour;
    if (state.loaded) {
        auto started = Neighbour::start(aggressor, [&](pid_t pid) -> Result<> {
            return *aggressor_group ? (*aggressor_group)->add_task(pid) : Result<>{};
        });
        if (!started) return pass_on(started);
        neighbour = std::move(*started);
    }
    const auto into_group = [&](pid_t pid) -> Result<> {
        return *victim_group ? (*victim_group)->add_task(pid) : Result<>{};
    };
    // Read while it runs: what a process held of the cache is soon gone when it has ended.
    const auto before = *victim_group ? (*victim_group)->read_monitors() : std::vector<record::Event>{};
    auto during = before;
    const auto look = [&] {
        if (*victim_group) during = (*victim_group)->read_monitors();
    };
    auto record = measure_in_child([&] { return victim.measure(); }, into_group, hooks.interrupted, look);
    if (!record) return record;
    if (neighbour)
        if (const auto lasted = neighbour->check(); !lasted) return pass_on(lasted);
    if (record->runs.empty()) return record;
    auto& events = record->runs.front().events;
    for (std::size_t index = 0; index < std::min(before.size(), during.size()); ++index)
        events.push_back(moved_since(before[index], during[index]));
    return record;
}

/// The run of the round whose time is the middle one, with statistics over all rounds put in.
record::Run summarize_state(const State& state, const Outcomes& outcomes, const std::vector<double>& alone) {
    const auto order = summarize(outcomes.ns_per_op);
    std::size_t middle = 0;
    for (std::size_t index = 0; index < outcomes.ns_per_op.size(); ++index)
        if (std::fabs(outcomes.ns_per_op[index] - order.median) < std::fabs(outcomes.ns_per_op[middle] - order.median))
            middle = index;
    record::Run run = outcomes.records[middle].runs.front();
    const double bytes_per_op =
        run.time.bytes_per_second.count ? run.time.bytes_per_second.median * run.time.ns_per_op.median : 0;
    run.time.ns_per_op = order;
    if (bytes_per_op > 0) {
        std::vector<double> rates;
        for (const double ns : outcomes.ns_per_op) rates.push_back(bytes_per_op / ns);
        run.time.bytes_per_second = summarize(rates);
    }
    // Each metric's bounds cover every round, not only the one that is shown.
    for (auto& metric : run.metrics)
        for (const auto& record : outcomes.records)
            for (const auto& other : record.runs.front().metrics)
                if (other.name == metric.name && other.status == metric.status) {
                    metric.low = std::min(metric.low, other.value);
                    metric.high = std::max(metric.high, other.value);
                }
    run.extra["state"] = state.name;
    run.extra["rounds_ns_per_op"] = outcomes.ns_per_op;
    if (state.name != "alone") {
        std::vector<double> changes;
        for (std::size_t round = 0; round < std::min(alone.size(), outcomes.ns_per_op.size()); ++round)
            changes.push_back(outcomes.ns_per_op[round] / alone[round] - 1);
        const auto change = summarize(changes);
        run.extra["against_alone"] = change.median;
        run.extra["against_alone_low"] = change.low;
        run.extra["against_alone_high"] = change.high;
    }
    return run;
}

/// What the numbers say, in words.
std::string sentence(const record::Run& run) {
    const double change = run.extra["against_alone"], low = run.extra["against_alone_low"],
                 high = run.extra["against_alone_high"];
    const std::string state = run.extra["state"];
    if (low <= 0 && high >= 0)
        return fmt::format("{}: no difference that stands out of the noise ({:+.1f}% to {:+.1f}% time per operation)",
                           state, 100 * low, 100 * high);
    return fmt::format("{}: the victim is {:.1f}% {} than alone (95%: {:+.1f}% to {:+.1f}%)", state,
                       100 * std::fabs(change), change > 0 ? "slower" : "faster", 100 * low, 100 * high);
}

record::Record finish(const RunRequest& run, const Setup& setup, const std::vector<State>& states,
                      const std::map<std::string, Outcomes>& outcomes) {
    record::Record record = start_record(run, setup);
    record.experiment = "interference";
    record.source = outcomes.at("alone").records.front().source;
    record.extra["verdicts"] = nlohmann::json::array();
    for (const auto& state : states) {
        const auto& outcome = outcomes.at(state.name);
        record.runs.push_back(summarize_state(state, outcome, outcomes.at("alone").ns_per_op));
        if (state.name != "alone") record.extra["verdicts"].push_back(sentence(record.runs.back()));
    }
    return record;
}

}  // namespace

Result<record::Record> interference(const InterferenceRequest& request, const machine::Host& host,
                                    const machine::Topology& topology, const InterferenceHooks& hooks) {
    if (request.rounds < 1) return fail(ErrorCode::bad_usage, "--rounds must be at least one");
    auto subjects = choose_subjects(request, host, topology);
    if (!subjects) return pass_on(subjects);
    const auto& [victim, aggressor, setup] = *subjects;

    const auto info = resctrl::read_info(request.resctrl_root);
    const auto states = choose_states(request, info);
    if (!states) return pass_on(states);

    std::map<std::string, Outcomes> outcomes;
    bool partial = false;
    for (int round = 0; round < request.rounds && !partial; ++round) {
        std::map<std::string, record::Record> this_round;
        for (const auto& state : *states) {
            auto record = measure_state(state, victim, aggressor, info, hooks);
            if (!record && record.error().code == ErrorCode::interrupted && round > 0) {
                partial = true;
                break;
            }
            if (!record) return pass_on(record);
            if (record->runs.empty() || !record->runs.front().time.known)
                return fail(ErrorCode::unavailable, "the victim could not be timed",
                            "a command under the tracer has no time of its own: use --source none");
            this_round.insert_or_assign(state.name, std::move(*record));
        }
        if (partial) break;
        for (auto& [name, record] : this_round) {
            outcomes[name].ns_per_op.push_back(record.runs.front().time.ns_per_op.median);
            outcomes[name].records.push_back(std::move(record));
        }
        if (hooks.on_progress)
            hooks.on_progress({fmt::format("round {} of {}", round + 1, request.rounds),
                               static_cast<double>(round + 1) / request.rounds, {}});
    }
    record::Record record = finish(victim.request, setup, *states, outcomes);
    record.partial = partial;
    record.extra["victim"] = request.victim;
    record.extra["aggressor"] = request.aggressor;
    record.extra["place"] = aggressor.place;
    record.extra["aggressor_cpus"] = aggressor.point ? aggressor.point->parameters.cpus : std::vector<int>{};
    if (!info && (request.limit || request.protect)) record.warnings.push_back(no_resctrl(info.error()));
    if (setup.decision.sources.front() != SourceChoice::perf)
        record.warnings.push_back({"no_tree_under_load",
                                   "no counters here: the states are compared by time alone",
                                   "a model cannot see a neighbour; tmaprobe doctor says what keeps the counters away"});
    return record;
}

}  // namespace tmaprobe::experiments
