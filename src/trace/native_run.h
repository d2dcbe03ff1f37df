#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "trace/hardware_watch.h"
#include "trace/tracer.h"

namespace tmaprobe::trace {

/// Lets a copy run by itself, at the processor's speed. It reaches beyond itself no more than when it is traced: each
/// system call stops it before anything is done, and the tracer asks what is to become of that. The time stamp counter
/// goes on from where the tracer has it. x86-64 only.
class NativeRun {
  public:
    NativeRun(TracedProcess& copy, Tracer& tracer) : copy_(copy), tracer_(tracer) {}

    /// What a run came to.
    struct Ran {
        double processor_ns = 0;
        std::uint64_t ticks = 0;         ///< of the time stamp counter, as the copy saw it go on
        bool ended = false;              ///< it ended, or would have reached beyond itself
        std::optional<std::size_t> met;  ///< which point of the watch stopped it before its time
    };
    /// For so much processor time of the copy's; `goes_on` is asked every millisecond. The thread then stands in its
    /// own code, where the tracer or a Translator can go on. `watch`: null, or what stops it before. Errors: as Tracer;
    /// unavailable where copies cannot be let run.
    Result<Ran> run_for(double processor_ns, const std::function<bool()>& goes_on, HardwareWatch* watch = nullptr);

  private:
    struct Progress;
    Result<bool> make_call();
    Result<bool> show_time_stamp(Progress& progress);
    Result<> let_read_time_stamps(bool allowed);

    TracedProcess& copy_;
    Tracer& tracer_;
};

}  // namespace tmaprobe::trace
