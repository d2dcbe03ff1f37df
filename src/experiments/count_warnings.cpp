#include "experiments/count_warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "events/key.h"
#include "judge/count_index.h"
#include "machine/counter_users.h"

namespace tmaprobe::experiments {
namespace {

machine::PerfProblem held_or_lost(machine::PerfCause cause, const machine::Host& host) {
    auto access = machine::perf_access_of(host);
    access.counter_users = machine::find_counter_users();
    return machine::problem_of(cause, access);
}

/// Metrics, and the latencies at retirement that they are made with; each once.
struct UsedLatencies {
    std::vector<std::string> metrics;
    std::vector<const record::RetireLatency*> events;

    void add(const std::string& metric, const record::RetireLatency* event) {
        if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
        if (event && std::ranges::find(events, event) == events.end()) events.push_back(event);
    }
};

std::string list_of_samples(const std::vector<const record::RetireLatency*>& events) {
    std::vector<std::string> each;
    for (const auto* event : events)
        each.push_back(fmt::format("{} {:.1f} cycles ({:.1f} to {:.1f}, {} samples{})", event->event, event->mean,
                                   event->low, event->high, event->samples,
                                   event->lost ? fmt::format(", {} lost", event->lost) : ""));
    return fmt::format("{}", fmt::join(each, ", "));
}

std::string_view reason_of(record::NoLatency why) {
    using enum record::NoLatency;
    switch (why) {
        case none:
            break;
        case not_precise:
            return "this CPU, its kernel or its hypervisor takes no precise samples of it";
        case no_permission:
            return "the kernel does not allow this user to sample it";
        case no_room:
            return "there is no room for its samples: too many open files, CPUs or threads, or too much locked memory";
        case with_intervals:
            return "intervals are shown before all of it could be sampled";
        case no_samples:
            return "no sample of it came";
        case too_few_samples:
            return "too few samples of it came";
        case always_zero:
            return "its samples came without a latency: the CPU or the kernel does not tell it";
    }
    return {};
}

/// ": EVENT, EVENT: why", for each reason; empty: nobody tried.
std::string reasons_of(const std::vector<const record::RetireLatency*>& events) {
    std::map<record::NoLatency, std::vector<std::string>> by_reason;
    for (const auto* event : events) by_reason[event->missing].push_back(event->event);
    std::string text;
    for (const auto& [why, names] : by_reason)
        text += fmt::format("{} {} ({})", text.empty() ? ":" : ";", reason_of(why), fmt::join(names, ", "));
    return text;
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

std::vector<record::Warning> say_latencies(const events::Table& table, const metrics::Constants& constants,
                                           const std::vector<record::Metric>& metrics,
                                           const std::vector<record::RetireLatency>& latencies) {
    UsedLatencies sampled, published;
    for (const auto& metric : metrics) {
        if (!has_value(metric)) continue;
        const auto needed = metrics::events_needed(table.metrics, {metric.name}, constants);
        if (!needed) continue;
        for (const std::string& spelling : *needed) {
            const auto event = events::resolve(table, spelling);
            if (!event || !event->is_latency()) continue;
            const auto key = events::key_of(table, *event);
            const auto found = std::ranges::find_if(latencies, [&](const auto& one) { return one.key == key; });
            const bool known = found != latencies.end();
            const bool is_sampled = known && found->missing == record::NoLatency::none;
            (is_sampled ? sampled : published).add(metric.name, known ? &*found : nullptr);
        }
    }
    std::vector<record::Warning> warnings;
    if (!sampled.metrics.empty())
        warnings.push_back({"sampled_latencies",
                            fmt::format("{}: made with latencies at retirement that were sampled here: {}",
                                        fmt::join(sampled.metrics, ", "), list_of_samples(sampled.events)),
                            "low..high hold what the samples leave open"});
    if (!published.metrics.empty())
        warnings.push_back(
            {"published_latencies",
             fmt::format("{}: made with latencies at retirement that Intel publishes as means of its own programs; "
                         "those of this program are not measured{}",
                         fmt::join(published.metrics, ", "), reasons_of(published.events)),
             "another program's instructions may wait longer or shorter: bounds do not hold what that changes"});
    return warnings;
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
