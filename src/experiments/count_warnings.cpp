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

std::optional<record::Warning> say_published_latencies(const events::Table& table, const metrics::Constants& constants,
                                                       const std::vector<record::Metric>& metrics) {
    if (std::ranges::none_of(table.events, [](const auto& event) { return event.retire_latency.has_value(); }))
        return {};
    std::string names;
    for (const auto& metric : metrics) {
        if (!has_value(metric)) continue;
        const auto needed = metrics::events_needed(table.metrics, {metric.name}, constants);
        const bool takes_one = needed && std::ranges::any_of(*needed, [&](const std::string& spelling) {
                                   const auto event = events::resolve(table, spelling);
                                   return event && event->is_latency();
                               });
        if (takes_one) names += (names.empty() ? "" : ", ") + metric.name;
    }
    if (names.empty()) return {};
    return record::Warning{
        "published_latencies",
        names +
            ": made with latencies at retirement that Intel publishes as means of its own "
            "programs; those of this program are not measured",
        "another program's loads may wait longer or shorter: perf record -W samples what these waited"};
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
