#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/cost_estimate.h"
#include "model/modelled_cpu.h"
#include "model/own_addresses.h"
#include "trace/trace.h"

namespace tmaprobe::model {

/// Where a program's memory lies: a simulation of its own for each.
struct MemoryLayout {
    std::vector<OwnAddresses::Placement> placements;
    std::uint64_t code_shift = 0;
};

/// A stretch of what was executed: first what caches and predictors are warmed with, then a window.
struct ExecutedStretch {
    std::shared_ptr<const std::vector<trace::StaticInstruction>> instructions;
    std::vector<trace::Step> warm_up, window;
    std::uint64_t writable_bytes = 0;  ///< that the program has
};

/// The same executed instructions on one CPU in several layouts, each simulated on a thread of its own while the
/// program goes on.
class LayoutSimulators {
  public:
    /// Errors: those of core::make_core().
    static Result<LayoutSimulators> start(const ModelledCpu& cpu, const std::vector<MemoryLayout>& layouts);
    LayoutSimulators(LayoutSimulators&&) noexcept;
    LayoutSimulators& operator=(LayoutSimulators&&) noexcept;
    ~LayoutSimulators();

    /// Waits while the simulations are behind.
    void add(ExecutedStretch stretch);
    /// The windows of each layout, by real address. Errors: those of the core.
    Result<std::vector<std::vector<std::map<std::uint64_t, SampledCode>>>> finish();

  private:
    class Simulator;
    LayoutSimulators();
    std::vector<std::unique_ptr<Simulator>> simulators_;
};

}  // namespace tmaprobe::model
