#include "experiments/basic_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "counters/perf/perf.h"
#include "experiments/further_events.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::experiments {
namespace {

/// Of the events of that name, on that PMU, the one that was counted longest: a metric of the tree may count it as
/// well. Where no table tells the kinds of cores apart, the sum over them.
std::optional<record::Event> counted_event(const std::vector<record::Event>& events, const std::string& name,
                                           const std::string& pmu) {
    const std::string of_pmu = fmt::format("{}/{}/", pmu, name);
    std::optional<record::Event> best;
    std::vector<record::Event> of_kinds;
    for (const auto& event : events) {
        if (event.reading.time_running_ns == 0) continue;
        const bool is_it = event.name == name || (!pmu.empty() && event.name == of_pmu);
        if (is_it && (!best || best->reading.time_running_ns < event.reading.time_running_ns)) best = event;
        if (!is_it && pmu.empty() && event.name.ends_with(of_pmu)) of_kinds.push_back(event);
    }
    if (best || of_kinds.empty()) return best;
    for (std::size_t kind = 1; kind < of_kinds.size(); ++kind) {
        auto& sum = of_kinds.front();
        const auto& more = of_kinds[kind];
        const double low = sum.low.value_or(sum.reading.value) + more.low.value_or(more.reading.value);
        const double high = sum.high.value_or(sum.reading.value) + more.high.value_or(more.reading.value);
        sum.reading.value += more.reading.value;
        sum.reading.time_enabled_ns += more.reading.time_enabled_ns;
        sum.reading.time_running_ns += more.reading.time_running_ns;
        sum.low = low, sum.high = high;
    }
    return of_kinds.front();
}

double share_of(const record::Reading& reading) {
    return reading.time_enabled_ns
               ? static_cast<double>(reading.time_running_ns) / static_cast<double>(reading.time_enabled_ns)
               : 0;
}

}  // namespace

std::vector<std::string> countable_pairs(const std::vector<events::BasicMetric>& known, const events::Table& table) {
    std::set<std::uint64_t> listed;
    for (const auto& pmu : machine::core_pmus()) listed.merge(machine::listed_common_events(pmu));
    std::set<std::string> there;
    const auto counts = [&](const std::string& name) {
        if (name.empty() || there.contains(name)) return true;
        const auto further = further_events(table, {name});
        if (!further || further->events.empty()) return false;
        const bool all = std::ranges::all_of(further->events, [&](const counters::PlannedEvent& event) {
            // An Arm PMU opens what it does not implement.
            const std::uint64_t number = event.definition.config;
            const bool listed_or_not_common = event.definition.pmu == "hardware" || listed.empty() ||
                                              !machine::is_common_arm_event(number) || listed.contains(number);
            return listed_or_not_common && counters::perf::opens(event);
        });
        if (all) there.insert(name);
        return all;
    };
    std::vector<std::string> pairs;
    std::set<std::string> written;
    for (const auto& metric : known) {
        if (written.contains(metric.event) || !counts(metric.event) || !counts(metric.per)) continue;
        pairs.push_back(metric.per.empty() ? metric.event : fmt::format("{{{},{}}}", metric.event, metric.per));
        written.insert({metric.event, metric.per});
    }
    return pairs;
}

void add_basic_metrics(const std::vector<events::BasicMetric>& known, record::Run& run) {
    const std::string& pmu = run.parameters.pmu;
    for (const auto& wanted : known) {
        const auto count = counted_event(run.events, wanted.event, pmu);
        const auto per = wanted.per.empty() ? std::nullopt : counted_event(run.events, wanted.per, pmu);
        if (!count) continue;
        if (!wanted.per.empty() && (!per || per->reading.value <= 0)) continue;
        if (std::ranges::find(run.metrics, wanted.name, &record::Metric::name) != run.metrics.end()) continue;
        record::Metric metric;
        metric.name = wanted.name;
        metric.description = wanted.what;
        metric.category = record::Category::other;
        metric.subcategory = "basic";
        metric.status = record::Status::measured;
        metric.formula = per ? wanted.event + " / " + wanted.per : wanted.event;
        metric.unit = per ? record::MetricUnit::ratio : record::MetricUnit::count;
        metric.counted_share = share_of(count->reading);
        const double value = count->reading.value, whole = per ? per->reading.value : 1;
        const double most = per ? per->high.value_or(whole) : 1, least = per ? per->low.value_or(whole) : 1;
        metric.value = value / whole;
        metric.low = count->low.value_or(value) / most;
        metric.high = least > 0 ? count->high.value_or(value) / least : metric.value;
        if (least <= 0) metric.warnings.push_back("unbounded");
        if (per) metric.counted_share = std::min(metric.counted_share, share_of(per->reading));
        run.metrics.push_back(std::move(metric));
    }
}

}  // namespace tmaprobe::experiments
