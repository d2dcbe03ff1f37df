#include "experiments/monitoring.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "counters/resctrl/info.h"

namespace tmaprobe::experiments {

namespace resctrl = counters::resctrl;

Look look_at(const resctrl::ResourceGroup& group) { return {std::chrono::steady_clock::now(), group.read_monitors()}; }

std::vector<record::Event> monitored_between(const Look& first, const Look& last) {
    const auto window = std::chrono::duration_cast<std::chrono::nanoseconds>(last.at - first.at).count();
    auto events = last.events;
    for (auto& event : events) {
        if (!event.name.starts_with("mbm_") || event.note != record::Note::none) continue;
        const auto before = std::find_if(first.events.begin(), first.events.end(),
                                         [&](const record::Event& other) { return other.name == event.name; });
        auto& reading = event.reading;
        if (window <= 0 || before == first.events.end() || before->note != record::Note::none ||
            reading.raw < before->reading.raw) {
            event.note = record::Note::not_counted;
            reading = {};
            continue;
        }
        reading.raw -= before->reading.raw;
        reading.value = static_cast<double>(reading.raw);
        reading.time_enabled_ns = reading.time_running_ns = static_cast<std::uint64_t>(window);
    }
    return events;
}

std::optional<Watch> Watch::start(const std::filesystem::path& root, const std::vector<pid_t>& tasks) {
    if (root.empty()) return {};
    const auto info = resctrl::read_info(root);
    if (!info || info->monitors.empty()) return {};
    auto keeper = resctrl::Keeper::start(root);
    if (!keeper) return {};
    auto group = resctrl::ResourceGroup::create_monitor(*info, "run");
    if (!group) return {};
    for (const pid_t task : tasks)
        if (!group->add_task(task)) return {};
    Watch watch(std::move(*keeper), std::move(*group));
    watch.begin();
    return watch;
}

std::vector<record::Event> monitor(counters::Workload& workload, std::uint64_t iterations,
                                   const std::filesystem::path& root) {
    auto tasks = workload.threads();
    tasks.push_back(::gettid());
    auto watch = Watch::start(root, tasks);
    if (!watch) return {};
    workload.prepare();
    watch->begin();
    workload.run(iterations);
    return watch->finish();
}

}  // namespace tmaprobe::experiments
