#include "experiments/count_warnings.h"

#include <algorithm>

#include "judge/count_index.h"
#include "machine/counter_users.h"

namespace tmaprobe::experiments {
namespace {

machine::PerfProblem held_or_lost(machine::PerfCause cause, const machine::Host& host) {
    auto access = machine::perf_access_of(host);
    access.counter_users = machine::find_counter_users();
    return machine::problem_of(cause, access);
}

}  // namespace

void say_impossible_zeros(const events::Table& table, Counted& counted, std::vector<record::Warning>& warnings) {
    judge::flag_impossible_zeros(table, counted.events);
    for (auto& events : counted.repetitions) judge::flag_impossible_zeros(table, events);
    for (auto& interval : counted.series) judge::flag_impossible_zeros(table, interval.events);
    std::string names;
    for (const auto& event : counted.events)
        if (event.note == record::Note::impossible_zero) names += (names.empty() ? "" : ", ") + event.name;
    if (!names.empty())
        warnings.push_back(
            {"impossible_zero", names + " counted 0 while the program ran: the counter does not work",
             "a hypervisor or simulator may offer counters that do not count: tmaprobe doctor, or --source model"});
}

std::optional<record::Warning> say_split(const counters::Plan& plan, const std::vector<record::Metric>& metrics) {
    constexpr double whole_share = 0.9995;
    std::vector<counters::SplitMetric> really;
    for (const auto& split : plan.split) {
        const auto metric = std::ranges::find(metrics, split.name, &record::Metric::name);
        const bool whole = plan.policy == counters::Policy::multiplex && metric != metrics.end() &&
                           metric->counted_share >= whole_share;
        if (!whole) really.push_back(split);
    }
    return counters::split_warning(really, plan.policy);
}

bool nothing_was_counted(const std::vector<record::Event>& events) {
    bool wanted = false;
    for (const auto& event : events) {
        if (event.pmu == "software" || event.pmu == "tool" || event.pmu == "msr") continue;
        if (event.reading.time_running_ns > 0 || event.note == record::Note::other_cores) return false;
        wanted = wanted || (event.note == record::Note::not_counted && event.reading.time_enabled_ns > 0);
    }
    return wanted;
}

machine::PerfProblem counters_held(const machine::Host& host) {
    return held_or_lost(machine::PerfCause::counters_held, host);
}

machine::PerfProblem counters_lost(const machine::Host& host) {
    return held_or_lost(machine::PerfCause::counters_lost, host);
}

}  // namespace tmaprobe::experiments
