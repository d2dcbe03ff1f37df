#include "counters/perf/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "counters/perf/attributes.h"
#include "machine/counter_users.h"
#include "machine/perf_access.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::counters::perf {
namespace {

/// Shares above this are rounding of the kernel's clock, not multiplexing.
constexpr double whole_share = 0.9995;

double share_of(const record::Reading& reading) {
    return reading.time_enabled_ns
               ? static_cast<double>(reading.time_running_ns) / static_cast<double>(reading.time_enabled_ns)
               : 0;
}

/// Replaces the time that the event was enabled by the time spent on its PMU's cores.
void scale_to_residency(Judged& judged, std::uint64_t residency_ns) {
    auto& reading = judged.reading;
    if (reading.time_running_ns == 0) return;
    reading.time_enabled_ns = std::max(residency_ns, reading.time_running_ns);
    reading.value = static_cast<double>(reading.raw) / share_of(reading);
}

/// Which of an event's counts are wanted: all, or those of one CPU, of one thread or of these threads.
struct Wanted {
    std::optional<int> cpu{};
    std::optional<pid_t> thread{};
    const std::set<pid_t>* threads = nullptr;
};

Judged count_event(const Layout& layout, std::size_t position, const Span& span, bool extrapolate,
                   const Wanted& wanted) {
    std::vector<Judged> instances;
    const auto& place = layout.places[position];
    const std::size_t threads = place.cpus.empty() ? place.count : place.count / place.cpus.size();
    for (std::size_t index = 0; index < place.count; ++index) {
        if (wanted.cpu && place.cpus[index / threads] != *wanted.cpu) continue;
        if (wanted.thread && place.threads[index % threads] != *wanted.thread) continue;
        if (wanted.threads && !wanted.threads->contains(place.threads[index % threads])) continue;
        const RawCount before = span.before ? (*span.before)[place.first + index] : RawCount{};
        instances.push_back(judge(before, (*span.after)[place.first + index], span.bracketing, span.elapsed_ns,
                                  span.enabled_before_ns));
    }
    return combine(instances, extrapolate);
}

record::Event collect_event(const Pass& pass, const PassPlace& place, const Layout& layout, std::size_t position,
                            const Span& span, const Residency& residency, const Wanted& wanted) {
    const OpenedEvent& opened = layout.opened[position];
    const PlannedEvent& planned = pass.groups[opened.group].events[opened.index];
    record::Event event = describe(planned);
    // Where there are kinds of cores, the kernel's own names are of one of them.
    if (!residency.empty() && (event.pmu == "hardware" || event.pmu == "hw_cache")) {
        const auto& pmus = known_core_pmus();
        if (const machine::Pmu* core = core_of(planned, pmus)) event.pmu = core->name;
    }
    event.pass = place.pass;
    event.group = place.first_group + static_cast<int>(opened.group);
    const auto on_pmu = residency.find(event.pmu);
    if (opened.error == ENODEV && layout.places[position].elsewhere) {
        event.note = record::Note::other_cores;
    } else if (opened.error) {
        event.note =
            opened.error == EACCES || opened.error == EPERM ? record::Note::no_permission : record::Note::not_supported;
    } else {
        Judged judged = count_event(layout, position, span, on_pmu == residency.end(), wanted);
        if (on_pmu != residency.end()) scale_to_residency(judged, on_pmu->second);
        event.reading = judged.reading;
        const bool elsewhere =
            on_pmu != residency.end() && on_pmu->second == 0 && judged.note == record::Note::not_counted;
        event.note = elsewhere ? record::Note::other_cores : judged.note;
    }
    return event;
}

}  // namespace

std::vector<record::Event> collect(const Pass& pass, const PassPlace& place, const Layout& layout, const Span& span,
                                   const Residency& residency) {
    std::vector<record::Event> events;
    for (std::size_t position = 0; position < layout.opened.size(); ++position)
        events.push_back(collect_event(pass, place, layout, position, span, residency, {}));
    return events;
}

std::map<int, std::vector<record::Event>> collect_by_cpu(const Pass& pass, const PassPlace& place, const Layout& layout,
                                                         const Span& span) {
    std::map<int, std::vector<record::Event>> by_cpu;
    for (std::size_t position = 0; position < layout.opened.size(); ++position)
        for (const int cpu : layout.places[position].cpus)
            by_cpu[cpu].push_back(collect_event(pass, place, layout, position, span, {}, {cpu, {}}));
    return by_cpu;
}

std::map<int, std::vector<record::Event>> collect_by_thread(const Pass& pass, const PassPlace& place,
                                                            const Layout& layout, const Span& span) {
    std::map<int, std::vector<record::Event>> by_thread;
    for (std::size_t position = 0; position < layout.opened.size(); ++position)
        for (const pid_t thread : layout.places[position].threads)
            if (thread > 0)  // no task of what belongs to the machine
                by_thread[thread].push_back(collect_event(pass, place, layout, position, span, {}, {{}, thread}));
    return by_thread;
}

std::map<int, std::vector<record::Event>> collect_by_group(const Pass& pass, const PassPlace& place,
                                                           const Layout& layout, const Span& span,
                                                           const std::vector<std::set<pid_t>>& groups) {
    std::map<int, std::vector<record::Event>> by_group;
    for (std::size_t position = 0; position < layout.opened.size(); ++position) {
        const auto& threads = layout.places[position].threads;
        // Of a machine's PMU there is no task to tell apart.
        if (!threads.empty() && std::ranges::all_of(threads, [](pid_t thread) { return thread <= 0; })) continue;
        for (std::size_t group = 0; group < groups.size(); ++group)
            by_group[static_cast<int>(group)].push_back(
                collect_event(pass, place, layout, position, span, {}, {{}, {}, &groups[group]}));
    }
    return by_group;
}

void note_unimplemented(std::vector<record::Event>& events, const std::set<std::uint64_t>& listed) {
    if (listed.empty()) return;
    for (auto& event : events) {
        if (!event.key) continue;
        const std::uint64_t config = event.key->config;
        const bool counted_nothing =
            event.note == record::Note::none && event.reading.raw == 0 && event.reading.time_running_ns > 0;
        if (counted_nothing && machine::is_common_arm_event(config) && !listed.contains(config) &&
            event.pmu != "software")
            event.note = record::Note::not_implemented;
    }
}

void add_rates(std::vector<RateSpread>& spreads, const std::vector<record::Event>& window) {
    spreads.resize(window.size());
    for (std::size_t index = 0; index < window.size(); ++index) {
        const auto& reading = window[index].reading;
        // A hybrid's event has no counter while the work is on the other kind of core.
        const bool hybrid = window[index].pmu == "cpu_core" || window[index].pmu == "cpu_atom";
        if (!hybrid && reading.time_running_ns == 0 && reading.time_enabled_ns > 0)
            spreads[index].add_idle(static_cast<double>(reading.time_enabled_ns));
        spreads[index].add(static_cast<double>(reading.raw), static_cast<double>(reading.time_running_ns));
    }
}

void set_bounds(std::vector<record::Event>& events, std::span<const RateSpread> spreads, double window_ns,
                const Sharing& sharing) {
    std::set<int> groups;
    for (const auto& event : events) groups.insert(event.group);
    const std::size_t all_groups = groups.size() + sharing.further_groups;
    const double rotation_ns = sharing.rotation_ns;
    for (std::size_t index = 0; index < events.size(); ++index) {
        auto& event = events[index];
        const double share = share_of(event.reading);
        if (event.reading.time_running_ns == 0 || share >= whole_share) continue;
        const RateSpread spread = index < spreads.size() ? spreads[index] : RateSpread{};
        const auto enabled_ns = static_cast<double>(event.reading.time_enabled_ns);
        const double taken = sharing.in_turns ? 0 : taken_share(enabled_ns, rotation_ns, all_groups, spread);
        const double error = multiplex_error(share, enabled_ns, rotation_ns, spread, window_ns) + taken;
        if (taken > 0 && event.note == record::Note::none) event.note = record::Note::counters_taken;
        // What was really counted is a lower bound of its own.
        event.low = std::max(static_cast<double>(event.reading.raw), event.reading.value * (1 - error));
        event.high =
            std::max(event.reading.value * (1 + error), most_of_rare(static_cast<double>(event.reading.raw)) / share);
    }
}

std::vector<record::Warning> warnings_of(const std::vector<record::Event>& events, Policy policy) {
    std::vector<record::Warning> warnings;
    std::string never_ran, shared, failed, refused, unimplemented, taken;
    const auto list = [](std::string& names, const record::Event& event) {
        names += (names.empty() ? "" : ", ") + event.name;
    };
    for (const auto& event : events) {
        if (event.note == record::Note::not_counted)
            list(never_ran, event);
        else if (event.note == record::Note::not_supported || event.note == record::Note::no_permission)
            list(refused, event);
        else if (event.note == record::Note::not_implemented)
            list(unimplemented, event);
        else if (event.note == record::Note::counters_taken)
            list(taken, event);
        else if (event.note != record::Note::none && event.note != record::Note::wrapped &&
                 event.note != record::Note::other_cores)
            list(failed, event);
        else if (policy == Policy::passes && event.note != record::Note::other_cores &&
                 share_of(event.reading) < whole_share)
            list(shared, event);
    }
    if (!never_ran.empty()) {
        auto access = machine::detect_perf_access();
        access.counter_users = machine::find_counter_users();
        const auto why = machine::problem_of(machine::PerfCause::not_scheduled, access);
        warnings.push_back({"not_counted", never_ran + ": " + why.what, why.hint});
    }
    if (!taken.empty()) {
        const std::string users = machine::find_counter_users();
        warnings.push_back({"counters_taken",
                            "another user had the counters for part of the time" +
                                (users.empty() ? "" : ", now " + users) +
                                "; what was not counted widens the bounds of " + taken,
                            "sudo lsof | grep perf_event shows who; repeat the measurement without it"});
    }
    if (!refused.empty())
        warnings.push_back({"not_supported", "this machine does not count " + refused,
                            "metrics that need it are unavailable; tmaprobe doctor says what is possible"});
    if (!unimplemented.empty())
        warnings.push_back(
            {"not_implemented",
             "this PMU opens " + unimplemented + ", counts 0 and does not list it: it is not implemented",
             "metrics that need it are unavailable; ls /sys/bus/event_source/devices/*/events shows what is "
             "implemented"});
    if (!shared.empty())
        warnings.push_back(
            {"multiplexed_against_plan", "counted only part of the time, though the plan fits the PMU: " + shared,
             "another user of the counters has come (a profiler, or the NMI watchdog); values are scaled"});
    if (!failed.empty())
        warnings.push_back({"unreliable_count", "the kernel gave impossible or partial counts for " + failed,
                            "see each event's note; repeat the measurement"});
    return warnings;
}

}  // namespace tmaprobe::counters::perf
