#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/model/traced_process.h"

namespace tmaprobe::counters::model {

/// For how long a command was held up by its tracer, summed over the windows.
struct Held {
    double wall_ns = 0;    ///< in windows and their warm-ups: translated, stepped or stopped
    double own_ns = 0;     ///< of these, spent in system calls: the command's own time
    double perhaps_own_ns = 0;  ///< and what may be such time, or a stop that took long
    double idle_ns = 0;    ///< neither the tracer nor the thread had a CPU: waiting that may have been the command's own
    double others_ns = 0;  ///< processor time that its other tasks used meanwhile
    std::size_t looks = 0; ///< windows that were begun
    std::size_t stops = 0; ///< between the windows: at forks, execs and signals
};

/// What the tracer added to a command's time.
struct Added {
    double ns = 0, low_ns = 0, high_ns = 0;
};

/// The held time less what the traced instructions take by themselves, which is as long as the model says (0 cycles per
/// instruction: it does not). The bounds cover a model that is wrong by a factor of three, system calls that cannot be told
/// from slow stops, what the other tasks did meanwhile, waiting for a CPU, the stops between the windows, and a tenth of the held time for what
/// nobody sees (caches that are cold afterwards): programs of half a second were timed that far from their native times.
Added added_by(const Held& held, std::size_t instructions, double cycles_per_instruction, double frequency_hz);

/// While it lives, the process's traced thread is held.
class HeldWatch {
  public:
    HeldWatch(const TracedProcess& process, Held& held);
    HeldWatch(const HeldWatch&) = delete;
    HeldWatch& operator=(const HeldWatch&) = delete;
    ~HeldWatch();

    /// Whether the thread has spent most of the time since in system calls, while there were other tasks.
    bool waited_for_others() const;

  private:
    std::uint64_t used_ns() const;
    const TracedProcess& process_;
    Held& held_;
    std::uint64_t start_ns_, own_ns_, perhaps_own_ns_, others_ns_, used_ns_;
};

}  // namespace tmaprobe::counters::model
