#include "experiments/interference.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "counters/resctrl/group.h"
#include "counters/resctrl/keeper.h"
#include "experiments/interference_states.h"
#include "experiments/kernel_run.h"
#include "experiments/measure.h"
#include "experiments/measure_in_child.h"
#include "experiments/monitoring.h"
#include "experiments/neighbour.h"
#include "experiments/requirements.h"
#include "experiments/setup.h"
#include "experiments/variant_trial.h"
#include "judge/interference_findings.h"

namespace tmaprobe::experiments {
namespace {

namespace resctrl = counters::resctrl;

record::Warning no_resctrl(const Error& error) {
    return {"no_resctrl", "nothing was limited or monitored: " + error.what, error.hint};
}

using MaybeGroup = std::optional<resctrl::ResourceGroup>;

/// A bandwidth between two steps of the hardware is not what it gets.
void add_rounding(const Result<resctrl::Info>& info, const std::optional<resctrl::Limit>& limit,
                  std::vector<record::Warning>& warnings) {
    if (!info || !info->bandwidth || !limit || !limit->bandwidth) return;
    const int given = resctrl::bandwidth_given(*info->bandwidth, *limit->bandwidth);
    if (given != *limit->bandwidth)
        warnings.push_back({"bandwidth_rounded",
                            fmt::format("mb={}: this hardware takes steps of {}, and the kernel gives {}",
                                        *limit->bandwidth, info->bandwidth->step, given),
                            ""});
}

/// A group with its schemata where the state limits, one that only monitors where it does not; else none.
Result<MaybeGroup> make_group(const Result<resctrl::Info>& info, const std::optional<std::string>& schemata,
                              bool monitored, const char* label) {
    if (!info || (!schemata && !monitored)) return MaybeGroup{};
    auto group = TRY(schemata ? resctrl::ResourceGroup::create(*info, label)
                              : resctrl::ResourceGroup::create_monitor(*info, label));
    if (schemata) TRY(group.assign(*schemata));
    return MaybeGroup(std::move(group));
}

/// Makes and removes what the states will need, so that a lack shows before anything is measured.
Result<> try_groups(const Result<resctrl::Info>& info, const std::vector<LoadState>& states) {
    for (const auto& state : states) {
        const auto victim = TRY(make_group(info, state.victim_schemata, state.monitored, "victim"));
        TRY(make_group(info, state.aggressor_schemata, false, "neighbour"));
        if (victim) TRY(victim->add_task(::gettid()));
    }
    return {};
}

/// Where resctrl cannot be used after all, what needs none of it.
std::vector<LoadState> without_resctrl(std::vector<LoadState> states) {
    std::erase_if(states, [](const LoadState& state) { return state.victim_schemata || state.aggressor_schemata; });
    for (auto& state : states) state.monitored = false;
    return states;
}

/// One measurement of the victim in one state; its groups live no longer than this call.
Result<record::Record> measure_state(const LoadState& state, const Subject& victim, const Subject& aggressor,
                                     const Result<resctrl::Info>& info, const InterferenceHooks& hooks) {
    auto victim_group = TRY(make_group(info, state.victim_schemata, state.monitored, "victim"));
    auto aggressor_group = TRY(make_group(info, state.aggressor_schemata, false, "neighbour"));

    std::optional<Neighbour> neighbour;
    if (state.loaded) {
        neighbour = TRY(Neighbour::start(aggressor, [&](pid_t pid) -> Result<> {
            return aggressor_group ? aggressor_group->add_task(pid) : Result<>{};
        }));
    }
    // Read while it runs: what a process held of the cache is soon gone when it has ended.
    std::vector<Look> looks;
    const auto look = [&] {
        if (victim_group && state.monitored) looks.push_back(look_at(*victim_group));
    };
    const auto into_group = [&](pid_t pid) -> Result<> {
        look();
        return victim_group ? victim_group->add_task(pid) : Result<>{};
    };
    auto record = measure_in_child([&] { return victim.measure(state.loaded); }, into_group, hooks.interrupted, look);
    if (!record) return record;
    if (neighbour) TRY(neighbour->check());
    if (record->runs.empty()) return record;
    if (!looks.empty()) {
        auto& events = record->runs.front().events;
        // Over the later half, when the victim's memory is in place and its occupancy has grown.
        for (auto& event : monitored_between(looks[looks.size() / 2], looks.back())) events.push_back(std::move(event));
    }
    return record;
}

record::Record finish(const std::string& command_line, const Setup& setup, const std::vector<LoadState>& states,
                      const std::map<std::string, judge::Outcomes>& outcomes) {
    record::Record record = start_record(command_line, setup);
    record.experiment = record::Experiment::interference;
    record.source = outcomes.at("alone").records.front().source;
    for (const auto& state : states) {
        const auto& outcome = outcomes.at(state.name);
        record.runs.push_back(judge::summarize_state(state.name, outcome, outcomes.at("alone")));
        record.runs.back().extra.allocation = state.allocation;
        if (state.loaded) record.extra.verdicts.push_back(judge::state_sentence(record.runs.back()));
    }
    for (const auto control : {record::AllocationControl::l3, record::AllocationControl::mb})
        if (const auto said = judge::allocation_sentence(record.runs, control); !said.empty())
            record.extra.verdicts.push_back(said);
    return record;
}

}  // namespace

Result<record::Record> interference(const InterferenceRequest& request, const machine::Host& host,
                                    const machine::Topology& topology, const InterferenceHooks& hooks) {
    if (request.rounds < 1) return fail(ErrorCode::bad_usage, "--rounds must be at least one");
    auto [victim, aggressor, setup] = TRY(choose_subjects(request, host, topology));

    const auto info = resctrl::read_info(request.resctrl_root);
    auto states = TRY(choose_states(request, info));
    std::optional<resctrl::Keeper> keeper;
    if (info) {
        auto started = TRY(resctrl::Keeper::start(request.resctrl_root));
        keeper = std::move(started);
    }
    const auto groups = try_groups(info, states);
    if (!groups && !request.allocations.empty()) return pass_on(groups);
    if (!groups) states = without_resctrl(std::move(states));

    std::vector<MemoryNeed> needs;
    if (victim.point) needs.push_back(need_of(*victim.point));
    if (aggressor.point && request.allocations.empty()) needs.push_back(need_of(*aggressor.point));
    memory::ReservedPages reserved;
    if (request.run.workload.reserve_pages) {
        reserved = TRY(reserve_for(needs, true, host));
    }
    TRY(check_needs(needs, true));
    for (Subject* subject : {&victim, &aggressor})
        if (subject->point) TRY(choose_by_trial(subject->request.workload, subject->setup, *subject->point));

    std::map<std::string, judge::Outcomes> outcomes;
    bool partial = false;
    for (int round = 0; round < request.rounds && !partial; ++round) {
        std::map<std::string, record::Record> this_round;
        for (const auto& state : states) {
            auto record = measure_state(state, victim, aggressor, info, hooks);
            if (!record && record.error().code == ErrorCode::interrupted && round > 0) {
                partial = true;
                break;
            }
            if (!record) return pass_on(record);
            if (record->runs.empty() || !record->runs.front().time.known)
                return fail(ErrorCode::unavailable, "the victim could not be timed",
                            record->runs.empty() ? "" : record->runs.front().time.reason);
            this_round.insert_or_assign(state.name, std::move(*record));
        }
        if (partial) break;
        for (auto& [name, record] : this_round) {
            outcomes[name].ns_per_op.push_back(record.runs.front().time.ns_per_op.median);
            outcomes[name].records.push_back(std::move(record));
        }
        if (hooks.on_progress)
            hooks.on_progress({fmt::format("round {} of {}", round + 1, request.rounds),
                               static_cast<double>(round + 1) / request.rounds,
                               {}});
    }
    record::Record record = finish(victim.request.command_line, setup, states, outcomes);
    record.partial = partial;
    record.extra.victim = request.victim;
    if (!request.allocations.empty()) {
        for (const auto& control : request.allocations)
            if (const auto known = value_named<record::AllocationControl>(control))
                record.extra.allocations.push_back(*known);
    } else {
        record.extra.aggressor = request.aggressor;
        record.extra.place = aggressor.place;
        record.extra.aggressor_cpus =
            aggressor.point ? aggressor.point->parameters.cpus : std::vector<int>{aggressor.cpu};
    }
    if (!info && (request.limit || request.protect)) record.warnings.push_back(no_resctrl(info.error()));
    if (!groups) record.warnings.push_back(no_resctrl(groups.error()));
    for (const auto& limit : {request.limit, request.protect}) add_rounding(info, limit, record.warnings);
    if (!setup.decision.counts() && request.run.counting.source != SourceChoice::none)
        record.warnings.push_back(
            {"no_tree_under_load", "no counters here: the states are compared by time alone",
             "a model cannot see a neighbour; tmaprobe doctor says what keeps the counters away"});
    give_back(reserved, record);
    return record;
}

}  // namespace tmaprobe::experiments
