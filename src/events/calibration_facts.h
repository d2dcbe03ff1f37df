#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// One property of a core that the clock can tell, from events/calibration.json.
struct CalibrationFact {
    std::string name;          ///< "load.l2"
    std::string what;          ///< a few words
    std::string unit;          ///< "cycles", "steps per cycle", "ns", "bytes", "bytes per second" or "entries"
    std::string instructions;  ///< a latency's: a regular expression for the whole of LLVM's names; empty: of none
};

/// In the order in which they are shown. Errors: bad_input for a broken file.
Result<std::vector<CalibrationFact>> read_calibration_facts(const Library& library);

/// The fact of that name; nullptr when there is none.
const CalibrationFact* find_fact(const std::vector<CalibrationFact>& facts, std::string_view name);

}  // namespace tmaprobe::events
