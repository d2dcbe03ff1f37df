#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/resctrl/info.h"
#include "record/record.h"

namespace tmaprobe::counters::resctrl {

/// Owns one resctrl group that this process made: removes it when it goes, after which the kernel gives
/// its tasks back to the default group. Never touches a group of somebody else.
class ResourceGroup {
  public:
    /// Makes <root>/tmaprobe-<pid>-<label>. Errors: unavailable when the hardware has no group left,
    /// no_permission, system; each with the kernel's own last_cmd_status.
    static Result<ResourceGroup> create(const Info& info, const std::string& label);
    /// Makes <root>/mon_groups/tmaprobe-<pid>-<label>: it monitors tasks of the default group and limits
    /// nothing, so that it takes no group of the hardware's few. Errors: as create.
    static Result<ResourceGroup> create_monitor(const Info& info, const std::string& label);
    ResourceGroup(ResourceGroup&& other) noexcept;
    ResourceGroup& operator=(ResourceGroup&& other) noexcept;
    ~ResourceGroup();

    /// Writes schemata lines. Errors: unavailable with last_cmd_status when the kernel refuses them.
    Result<> assign(const std::string& schemata) const;
    /// Moves a task of ours (and what it forks from now on) into the group.
    Result<> add_task(pid_t task) const;
    /// Its monitors as events of a record, summed over domains: llc_occupancy (bytes now),
    /// mbm_total_bytes and mbm_local_bytes (since the hardware counts). Empty without monitors.
    std::vector<record::Event> read_monitors() const;
    const std::filesystem::path& path() const { return path_; }

  private:
    ResourceGroup() = default;
    static Result<ResourceGroup> make(const Info& info, const std::filesystem::path& folder, const std::string& label);
    std::filesystem::path root_, path_;
    std::vector<std::string> monitors_;
};

/// Groups that a killed tmaprobe left behind: named as ours, their process gone.
std::vector<std::filesystem::path> find_leftovers(const std::filesystem::path& root);

/// Removes them; gives the names of those removed. Errors: that of the first that could not be removed.
Result<std::vector<std::string>> remove_leftovers(const std::filesystem::path& root);

/// Removes the groups that this process made; whether none is left.
bool remove_groups_of(const std::filesystem::path& root, pid_t made_by);

}  // namespace tmaprobe::counters::resctrl
