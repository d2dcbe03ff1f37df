#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "counters/perf/time_profile.h"
#include "counters/slot_attribution.h"
#include "process/mappings.h"

namespace tmaprobe::model {

/// What code the addresses are of that a profile met: processes end, and so does what is known of them.
class CodeOfLooks {
  public:
    /// While they run: what they have mapped, where it is not known yet.
    void look(const counters::perf::TimeProfile& profile);
    /// What else is known of a process's code.
    void add(pid_t process, const std::vector<process::CodeMapping>& code);
    /// All that the profile has met.
    counters::CodeSamples samples(const counters::perf::TimeProfile& profile) const;

  private:
    struct Known {
        std::vector<process::CodeMapping> code;  ///< by address
        std::size_t addresses = 0;               ///< that were met when that was read
    };
    std::map<pid_t, Known> known_;
};

}  // namespace tmaprobe::model
