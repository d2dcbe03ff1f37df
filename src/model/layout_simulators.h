#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "model/modelled_cpu.h"
#include "model/own_addresses.h"
#include "model/region_costs.h"
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
    std::vector<EventBits> events;     ///< of each step of the window
    std::uint64_t writable_bytes = 0;  ///< that the program has
    bool awaited = false;              ///< it begins where somebody waited for it, and not by chance
};

/// What they cost, by real address.
struct SimulatedWindows {
    std::vector<std::vector<SimulatedWindow>> layouts;  ///< of each layout in order, those that begin by chance
    std::vector<SimulatedWindow> awaited;               ///< of all layouts
};

/// Which of so many comes next: in each round each once, by chance. In the same order each time, what comes at regular
/// distances, as the rounds of a loop do, might meet one of them alone.
class RandomTurns {
  public:
    RandomTurns(std::size_t count, std::uint64_t seed);
    std::size_t next();

  private:
    std::vector<std::size_t> round_;
    std::size_t taken_ = 0;  ///< of this round
    Random random_;
};

/// Stretches of what a program executes on one CPU in several layouts, each layout simulated on a thread of its own
/// while the program goes on. Layouts take turns: one stretch is simulated in one layout.
class LayoutSimulators {
  public:
    struct Asked {
        bool regions = false;        ///< costs by trace::Step::regions, too
        bool branches_told = false;  ///< mispredicted is what `events` says, and not what warmed predictors say
    };
    /// Errors: those of core::make_core().
    static Result<LayoutSimulators> start(const ModelledCpu& cpu, const std::vector<MemoryLayout>& layouts,
                                          Asked asked);
    LayoutSimulators(LayoutSimulators&&) noexcept;
    LayoutSimulators& operator=(LayoutSimulators&&) noexcept;
    ~LayoutSimulators();

    /// Waits while the simulations are behind.
    void add(ExecutedStretch stretch);
    /// Errors: those of the core.
    Result<SimulatedWindows> finish();

  private:
    class Simulator;
    explicit LayoutSimulators(std::size_t layouts);
    std::vector<std::unique_ptr<Simulator>> simulators_;
    RandomTurns turns_, turns_of_awaited_;
};

}  // namespace tmaprobe::model
