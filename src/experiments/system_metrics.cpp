#include "experiments/system_metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "machine/event_sources.h"

namespace tmaprobe::experiments {
namespace {

/// An event of a part on one of the machine's PMUs.
struct Found {
    std::string spelling;
    machine::SourcedEvent event;
    std::size_t places = 1;  ///< CPUs that it is counted from
};

/// "pmu/term,term/" on each PMU of this machine that it means; none: this machine has no such event.
std::vector<Found> find_part(const std::string& spelling) {
    const std::size_t slash = spelling.find('/');
    const std::string text = spelling.substr(slash + 1, spelling.size() - slash - 2);
    std::vector<std::string> terms(1);
    for (const char letter : text) {
        if (letter == ',')
            terms.emplace_back();
        else
            terms.back() += letter;
    }
    std::vector<Found> found;
    for (const std::string& pmu : machine::pmus_named(spelling.substr(0, slash))) {
        auto event = machine::sourced_event(pmu, terms);
        const std::size_t places = machine::system_wide_cpus(pmu).size();
        if (event && places > 0) found.push_back({pmu + spelling.substr(slash), std::move(*event), places});
    }
    return found;
}

const events::SystemMetric* find_metric(const std::vector<events::SystemMetric>& known, const std::string& name) {
    const auto found = std::ranges::find(known, name, &events::SystemMetric::name);
    return found == known.end() ? nullptr : &*found;
}

/// What one count makes; how long it was counted is the time enabled from each of its CPUs.
double value_of(const events::SystemPart& part, const Found& found, const record::Event& counted,
                const machine::Host& host) {
    const double all_seconds = static_cast<double>(counted.reading.time_enabled_ns) * 1e-9;
    const double value = counted.reading.value * found.event.scale * part.factor;
    if (part.makes == events::SystemValue::residency) return value / (all_seconds * host.tsc_hz);
    return value / (all_seconds / static_cast<double>(found.places));
}

}  // namespace

Result<std::vector<std::string>> events_of_system_metrics(const std::vector<events::SystemMetric>& known,
                                                          const std::vector<std::string>& names) {
    std::vector<std::string> spellings;
    for (const std::string& name : names) {
        const events::SystemMetric* metric = find_metric(known, name);
        if (!metric) continue;
        const std::size_t before = spellings.size();
        std::string looked_for;
        for (const auto& part : metric->parts) {
            const std::string pmu = part.event.substr(0, part.event.find('/'));
            if (looked_for.find(pmu) == looked_for.npos) looked_for += (looked_for.empty() ? "" : ", ") + pmu;
            for (const Found& found : find_part(part.event)) spellings.push_back(found.spelling);
        }
        if (spellings.size() == before)
            return fail(ErrorCode::unavailable,
                        fmt::format("--metric {} ({}): the kernel has no PMU here that counts it", name, metric->what),
                        fmt::format("looked for {} in {}: a virtual machine has none; on hardware a driver may be "
                                    "missing (modprobe)",
                                    looked_for, machine::pmu_devices.string()));
    }
    return spellings;
}

std::vector<record::Metric> system_metrics(const std::vector<events::SystemMetric>& known,
                                           const std::vector<std::string>& names,
                                           const std::vector<record::Event>& counted, const machine::Host& host) {
    std::vector<record::Metric> metrics;
    for (const std::string& name : names) {
        const events::SystemMetric* metric = find_metric(known, name);
        if (!metric) continue;
        for (const auto& part : metric->parts)
            for (const Found& found : find_part(part.event)) {
                const auto event = std::ranges::find(counted, found.spelling, &record::Event::name);
                if (event == counted.end()) continue;
                auto sum = std::ranges::find(metrics, part.metric, &record::Metric::name);
                if (sum == metrics.end()) {
                    record::Metric first;
                    first.name = part.metric;
                    first.category = record::Category::other;
                    const bool share = part.makes == events::SystemValue::residency;
                    first.unit = share ? record::MetricUnit::ratio : record::MetricUnit::count;
                    first.status = record::Status::measured;
                    first.description = metric->what + ", of the whole machine";
                    sum = metrics.insert(metrics.end(), std::move(first));
                }
                sum->formula += (sum->formula.empty() ? "" : " + ") + found.spelling;
                if (event->reading.time_running_ns == 0 || event->reading.time_enabled_ns == 0) {
                    sum->status = record::Status::not_counted;
                    sum->reason = found.spelling + ": " + text_of(event->note);
                    continue;
                }
                sum->value += value_of(part, found, *event, host);
                sum->low = sum->high = sum->value;
            }
    }
    return metrics;
}

}  // namespace tmaprobe::experiments
