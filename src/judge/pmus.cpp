#include "judge/pmus.h"

#include <algorithm>
#include <array>

namespace tmaprobe::judge {
namespace {

constexpr std::array<const char*, 2> hybrid_pmus = {"cpu_core", "cpu_atom"};

/// Counts from elsewhere may have no times: then only their note says that they are none.
bool was_counted(const record::Event& event) {
    using enum record::Note;
    switch (event.note) {
        case not_counted:
        case not_supported:
        case not_implemented:
        case no_permission:
        case other_cores:
            return false;
        default:
            return event.reading.time_running_ns > 0 || event.reading.time_enabled_ns == 0;
    }
}

}  // namespace

std::vector<std::string> pmus_of(const std::vector<record::Event>& events) {
    std::vector<std::string> asked, counted;
    for (const char* pmu : hybrid_pmus) {
        const auto is_here = [&](const record::Event& event) { return event.pmu == pmu; };
        if (std::ranges::any_of(events, is_here)) asked.emplace_back(pmu);
        if (std::ranges::any_of(events, [&](const auto& event) { return is_here(event) && was_counted(event); }))
            counted.emplace_back(pmu);
    }
    if (!counted.empty()) return counted;
    return {asked.empty() ? std::string() : asked.front()};
}

std::vector<record::Event> events_on(const std::vector<record::Event>& events, const std::string& pmu) {
    std::vector<record::Event> chosen;
    for (const record::Event& event : events)
        if (pmu.empty() || event.pmu == pmu || std::ranges::find(hybrid_pmus, event.pmu) == hybrid_pmus.end())
            chosen.push_back(event);
    return chosen;
}

}  // namespace tmaprobe::judge
