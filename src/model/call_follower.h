#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "counters/slot_attribution.h"
#include "trace/trace.h"

namespace tmaprobe::model {

/// Follows a thread through its calls and returns, from a place in the midst of calls that it knows nothing of.
class CallFollower {
  public:
    CallFollower();
    /// The thread executed this instruction and went on to `next`.
    void step(const trace::StaticInstruction& instruction, std::uint64_t next);
    /// The calls that have not returned, as a number in calls().
    std::uint32_t current() const { return current_; }
    const std::vector<counters::CallPaths::Call>& calls() const { return calls_; }

  private:
    void come_back(std::uint64_t next);

    using Call = counters::CallPaths::Call;
    std::vector<Call> calls_;
    std::vector<std::uint64_t> returns_to_;  ///< of each call
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> known_;
    std::uint32_t current_ = 0;
};

}  // namespace tmaprobe::model
