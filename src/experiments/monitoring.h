#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "counters/resctrl/group.h"
#include "counters/resctrl/keeper.h"
#include "counters/workload.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// A look at the monitors of a resctrl group.
struct Look {
    std::chrono::steady_clock::time_point at;
    std::vector<record::Event> events;
};

Look look_at(const counters::resctrl::ResourceGroup& group);

/// What happened between two looks, as events: bandwidth monitors run on since the group was made, so that what
/// was moved is a difference, within time_enabled_ns; occupancy is that of the last look.
std::vector<record::Event> monitored_between(const Look& first, const Look& last);

/// Watches tasks of the default group through a monitoring group of its own, which goes when this does, and
/// when this process is killed.
class Watch {
  public:
    /// Empty where resctrl is missing, may not be written, has no monitors, or has none left; or where the
    /// tasks are in a group that somebody else put them into. What a task forks from now on is watched too.
    static std::optional<Watch> start(const std::filesystem::path& root, const std::vector<pid_t>& tasks);
    /// Counting begins here, and not earlier.
    void begin() { first_ = look_at(group_); }
    std::vector<record::Event> finish() const { return monitored_between(first_, look_at(group_)); }

  private:
    Watch(counters::resctrl::Keeper keeper, counters::resctrl::ResourceGroup group)
        : keeper_(std::move(keeper)), group_(std::move(group)) {}
    counters::resctrl::Keeper keeper_;  // outlives the group
    counters::resctrl::ResourceGroup group_;
    Look first_;
};

/// One more repetition of a kernel under the monitors, as events; none where Watch::start gives none.
std::vector<record::Event> monitor(counters::Workload& workload, std::uint64_t iterations,
                                   const std::filesystem::path& root);

}  // namespace tmaprobe::experiments
