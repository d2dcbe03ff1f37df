#pragma once

#include <cstdint>
#include <optional>

#include "record/calibration.h"

namespace tmaprobe::model {

/// What is known, beside its tables, of a modelled CPU that is the one of this machine.
struct ThisMachine {
    std::optional<record::Calibration> calibration;
    int virtual_cpus = 0;  ///< of a virtual machine, whose host may run others on the same CPU; 0: it is none
    std::uint64_t held_by_caches = 0;  ///< bytes, by second and third level together; 0: not known but by calibration
    double large_page_walk = 0;        ///< as TranslationGeometry has it; 0: not known but by calibration
    bool are_siblings = false;         ///< two of these may be of one core; else each is taken to have its own
};

}  // namespace tmaprobe::model
