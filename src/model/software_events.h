#pragma once

#include <sys/types.h>

#include <vector>

#include "process/held_command.h"
#include "process/running_threads.h"
#include "record/record.h"

namespace tmaprobe::model {

/// The kernel's own events of what is sampled (task-clock, page-faults, context-switches), from its books: counters
/// that children inherit would count what copies do, too.
std::vector<record::Event> software_events(const process::HeldCommand& ended);

/// The same of processes that run already, between two moments; without their children.
class SoftwareEvents {
  public:
    explicit SoftwareEvents(const std::vector<pid_t>& processes);
    /// To be asked again and again: what a process has used is gone with it.
    void look();
    /// Since the beginning, as of the last look. Context switches only where no thread came or went.
    std::vector<record::Event> events() const;
    double processor_ns() const;

  private:
    struct Watched {
        pid_t process = 0;
        process::ProcessUse first, last;
    };
    std::vector<Watched> watched_;
};

}  // namespace tmaprobe::model
