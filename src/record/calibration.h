#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tmaprobe::record {

/// One property of a core or its memory, as the clock has it.
struct CalibratedFact {
    std::string name;                       ///< as events/calibration.json has it: "load.l2"
    std::string unit;                       ///< "cycles", "steps per cycle", "ns", "bytes" or "bytes per second"
    double value = 0;                       ///< median of the clean readings
    double low = 0, high = 0;               ///< least and most of them, without an eighth on either side
    std::int64_t clean = 0, disturbed = 0;  ///< readings
    std::string reason;                     ///< why it must not be used; empty: it may
    std::vector<double> readings = {};      ///< the latest, oldest first, of what is read once more now and then
};

/// The fact of this name, if it is there and may be used; else nullptr.
inline const CalibratedFact* usable_fact(const std::vector<CalibratedFact>& facts, std::string_view name) {
    const auto found = std::ranges::find(facts, name, &CalibratedFact::name);
    return found != facts.end() && found->reason.empty() ? &*found : nullptr;
}

/// What `tmaprobe calibrate` found on one machine.
struct Calibration {
    std::string schema;  ///< calibration_schema
    std::string tool_version;
    std::string cpu_id, cpu_model;
    std::string folder;    ///< whose tables it was compared with
    std::string measured;  ///< UTC, "2026-01-31T12:00:00Z"
    double clock_hz = 0;   ///< core clock, median
    std::vector<CalibratedFact> facts;
};

inline constexpr std::string_view calibration_schema = "tmaprobe.calibration/1";

}  // namespace tmaprobe::record
