#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/cost_estimate.h"
#include "model/event_counter.h"
#include "model/followed_run.h"
#include "model/layout_simulators.h"
#include "model/rare_code.h"

namespace tmaprobe::model {

/// Follows a run from one window of it to the next, and counts what makes instructions dear: in all of the run, or,
/// where that is too long to be followed, in what leads to windows and in these.
class WindowFollower {
  public:
    WindowFollower(FollowedRun& run, const ModelledCpu& cpu, RareCode& rare, bool follows_all)
        : run_(run), counter_(cpu), rare_(rare), follows_all_(follows_all), goes_on_(follows_all) {}

    Result<> go_to(std::uint64_t position);
    /// As far as that is to be followed.
    Result<> go_to_end();
    /// The next instructions: so many that lead to a window, and so many in it; no window where the run has ended.
    Result<ExecutedStretch> window(std::size_t warmed, std::size_t simulated);
    /// From where it comes to one of the blocks of code that begin at these addresses, if it does before `position`.
    Result<std::optional<ExecutedStretch>> await(std::vector<std::uint64_t> addresses, std::uint64_t position,
                                                 std::size_t simulated);

    /// Of all until now, in a run that executed each instruction so often.
    CountedEvents counted(const std::map<std::uint64_t, double>& executions);

  private:
    Result<> follow(std::uint64_t count, std::vector<trace::Step>& steps, std::vector<EventBits>* events);
    void finish(ExecutedStretch& stretch);
    void take();

    FollowedRun& run_;
    EventCounter counter_;
    RareCode& rare_;
    bool follows_all_;
    bool goes_on_;  ///< what is followed next comes next
    CountedEvents counted_;
    std::shared_ptr<CountedEvents::Stretches> stretches_ = std::make_shared<CountedEvents::Stretches>();
};

}  // namespace tmaprobe::model
