#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "model/window_simulator.h"

namespace tmaprobe::model {

/// A window, and what it took to simulate it.
struct WindowBeside {
    WindowFacts facts;
    std::uint64_t simulated_instructions = 0;  ///< variations included
    double simulating_ns = 0;
};

/// Windows that are simulated while the next are traced, each in a fork of this process: whatever caches, predictors
/// and cores are by then, the fork has them as they were.
class WindowsBeside {
  public:
    WindowsBeside() = default;
    WindowsBeside(const WindowsBeside&) = delete;
    WindowsBeside& operator=(const WindowsBeside&) = delete;
    /// What still runs is ended.
    ~WindowsBeside();

    /// From now on so many at a time; before, none.
    void allow(unsigned at_a_time) { at_a_time_ = at_a_time; }
    /// Begins one, by the number that take() wants; nothing where no further one may run, or a fork fails.
    std::optional<std::uint32_t> begin(const std::function<Result<WindowBeside>()>& simulate);
    /// Waits for a window's end; each may be taken once. Errors: that of the simulation; system when it came to no end.
    Result<WindowBeside> take(std::uint32_t number);

  private:
    struct Fork {
        pid_t process = -1;  ///< -1: it has ended
        Fd answer;
    };

    unsigned running();

    std::vector<Fork> forks_;
    unsigned at_a_time_ = 0;
};

}  // namespace tmaprobe::model
