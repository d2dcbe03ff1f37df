#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/region_wish.h"
#include "process/region_page.h"
#include "trace/region_watch.h"

namespace tmaprobe::model {

/// The regions of a command that is followed from its start: listens to its marks, and knows which regions its
/// instructions are in.
class FollowedRegions {
  public:
    /// Before the command is started. Errors: those of process::RegionPage.
    static Result<std::unique_ptr<FollowedRegions>> prepare(const RegionWish& wish);
    FollowedRegions(const FollowedRegions&) = delete;
    FollowedRegions& operator=(const FollowedRegions&) = delete;

    /// While it lives, what is started finds whom its marks tell.
    [[nodiscard]] std::unique_ptr<process::EnvironmentVariable> variable() const;
    /// The command has been started as this process.
    void started_as(pid_t process);

    /// Whether anything is told apart.
    bool any() const { return page_ || !functions_.empty(); }
    /// It stands somewhere, where it has come to unseen.
    void look(const trace::TracedProcess& process);
    /// What has come to have marks since it was looked at had none open then.
    void look_for_marks(const trace::TracedProcess& process);
    /// The next instruction that was executed, in order; says which regions it is in. False: it is none of the
    /// program's own, but a mark's.
    bool is_own(const trace::StaticInstruction& instruction, trace::Step& step);

    /// Where the marks' own code is: begin and end.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> code_of_marks() const;
    const std::vector<std::vector<std::uint32_t>>& paths() const { return paths_.all(); }
    /// Of regions that were entered and left.
    const std::map<std::uint32_t, trace::SeenEntries>& seen() const { return seen_; }
    /// Whether it has not yet been found where some of the functions lie.
    bool lacks_functions() const { return watch_ && watch_->lacks_functions(); }
    /// Whether it listens to marks, and none was executed yet where this was asked before (look_for_marks()).
    bool waits_for_marks() const { return watch_ && watch_->waits_for_marks(); }
    bool is_called(std::uint32_t region, const std::string& name) const;
    const process::RegionPage* page() const { return page_ ? &*page_ : nullptr; }
    const std::vector<std::string>& function_names() const { return function_names_; }
    /// By number, of those that it has marked until now, and of functions.
    std::map<std::uint32_t, std::string> names() const;

  private:
    FollowedRegions() = default;

    std::optional<process::RegionPage> page_;
    std::vector<trace::RegionFunction> functions_;
    std::vector<std::string> function_names_;
    trace::RegionPaths paths_;
    std::map<std::uint32_t, trace::SeenEntries> seen_;
    std::optional<trace::RegionWatch> watch_;
};

}  // namespace tmaprobe::model
