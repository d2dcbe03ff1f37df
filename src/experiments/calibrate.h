#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/calibration_facts.h"
#include "events/table.h"
#include "experiments/progress.h"
#include "machine/host.h"
#include "machine/topology.h"
#include "record/calibration.h"

namespace tmaprobe::experiments {

struct CalibrateRequest {
    int cpu = -1;  ///< that is measured; -1: the one that the scheduler gives
    events::Library library;
    std::function<bool()> interrupted;  ///< asked between facts
};

/// One fact beside what stood in its place before.
struct ComparedFact {
    std::string what;  ///< in a few words
    record::CalibratedFact found;
    std::optional<double> table;     ///< the tables' figure, in the fact's unit
    std::optional<double> modelled;  ///< by the model without calibration, of the same loop
    bool used = false;               ///< the model takes it
};

struct CalibrationReport {
    record::Calibration calibration;
    std::vector<ComparedFact> facts;
    std::vector<std::string> left_out;  ///< what could not be measured here, with the reason
};

/// Measures the core and memory that it runs on by the clock: each fact from repetitions between two looks at the CPU,
/// the disturbed ones left out, in about a minute. Errors: unavailable under an emulator, where time says nothing of a
/// core; interrupted; those of the tables.
Result<CalibrationReport> calibrate(const CalibrateRequest& request, const machine::Host& host,
                                    const machine::Topology& topology, const OnProgress& on_progress);

}  // namespace tmaprobe::experiments
