#include "counters/software.h"

#include <linux/perf_event.h>

namespace tmaprobe::counters {

Plan software_plan() {
    EventGroup group{"software", {}};
    const auto add = [&](const char* name, std::uint64_t config, const char* description) {
        events::EventDefinition definition;
        definition.name = name;
        definition.pmu = "software";
        definition.config = config;
        definition.description = description;
        events::EventKey key;
        key.pmu = definition.pmu;
        key.config = config;
        group.events.push_back({name, definition, false, std::move(key)});
    };
    add("task-clock", PERF_COUNT_SW_TASK_CLOCK, "nanoseconds on a CPU");
    add("page-faults", PERF_COUNT_SW_PAGE_FAULTS, "page faults");
    add("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, "context switches");
    add("cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, "moves to another CPU");
    Plan plan;
    plan.passes.push_back({{group}});
    return plan;
}

}  // namespace tmaprobe::counters
