#include "model/software_events.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "counters/software.h"

namespace tmaprobe::model {
namespace {

/// As counters name and describe them.
void add_event(std::vector<record::Event>& events, std::string_view name, double value) {
    const auto plan = counters::software_plan();
    for (const auto& group : plan.passes.front().groups)
        for (const auto& planned : group.events) {
            if (planned.name != name) continue;
            auto event = counters::describe(planned);
            event.reading.value = value;
            event.reading.raw = static_cast<std::uint64_t>(value);
            event.reading.time_enabled_ns = event.reading.time_running_ns = 1;  // all the time
            events.push_back(std::move(event));
        }
}

}  // namespace

std::vector<record::Event> software_events(const process::HeldCommand& ended) {
    std::vector<record::Event> events;
    add_event(events, "task-clock", ended.processor_ns());
    add_event(events, "page-faults", static_cast<double>(ended.page_faults()));
    add_event(events, "context-switches", static_cast<double>(ended.context_switches()));
    return events;
}

SoftwareEvents::SoftwareEvents(const std::vector<pid_t>& processes) {
    for (const pid_t process : processes)
        if (auto use = process::use_of(process)) watched_.push_back({process, *use, *use});
}

void SoftwareEvents::look() {
    for (Watched& one : watched_)
        // A zombie has no threads to ask.
        if (auto use = process::use_of(one.process); use && !use->context_switches.empty()) one.last = std::move(*use);
}

double SoftwareEvents::processor_ns() const {
    double sum = 0;
    for (const Watched& one : watched_) sum += one.last.processor_ns - one.first.processor_ns;
    return sum;
}

std::vector<record::Event> SoftwareEvents::events() const {
    double faults = 0, switches = 0;
    bool same_threads = true;
    for (const Watched& one : watched_) {
        faults += static_cast<double>(one.last.page_faults - one.first.page_faults);
        const auto &before = one.first.context_switches, &after = one.last.context_switches;
        same_threads = same_threads && std::ranges::equal(
                                           before, after, {}, [](const auto& entry) { return entry.first; },
                                           [](const auto& entry) { return entry.first; });
        for (const auto& [thread, count] : after) {
            const auto then = before.find(thread);
            switches += static_cast<double>(count - (then == before.end() ? 0 : then->second));
        }
    }
    std::vector<record::Event> events;
    if (watched_.empty()) return events;
    add_event(events, "task-clock", processor_ns());
    add_event(events, "page-faults", faults);
    if (same_threads) add_event(events, "context-switches", switches);
    return events;
}

}  // namespace tmaprobe::model
