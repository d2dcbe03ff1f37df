#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::report {

/// What one of resctrl's monitors says of one run.
struct Monitored {
    std::string name;   ///< as in the record: "llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"
    std::string title;  ///< "occupancy", "memory bytes/s", "local bytes/s"
    std::string unit;   ///< "bytes" or "bytes_per_second"
    double value = 0;   ///< NaN: it was not counted
};

/// The monitors of a run, in a fixed order; empty where the machine has none.
std::vector<Monitored> monitors_of(const record::Run& run);

/// "3.2M", "16.4G", "not counted".
std::string monitor_text(const Monitored& monitored);

/// The state of an interference record that the run is of; empty for other runs.
std::string state_of(const record::Run& run);

/// Relative change of time per operation against the victim alone, with its 95% interval.
struct Change {
    double value = 0, low = 0, high = 0;
};

/// Empty where the run is "alone" itself, or of no interference record.
std::optional<Change> against_alone(const record::Run& run);

}  // namespace tmaprobe::report
