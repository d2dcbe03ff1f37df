#pragma once

#include <cstdint>
#include <optional>

#include "record/calibration.h"

namespace tmaprobe::model {

/// What was found of the third level of a virtual machine, which others use, too. 0: it was not, or it can do without.
struct ThirdLevelFound {
    std::uint64_t held_bytes = 0;   ///< together with the second, of a block that is read again and again
    std::uint64_t given_bytes = 0;  ///< the same, if nobody else filled it
    double others_fill_ns = 0;      ///< as CacheGeometry has it
};

/// What is known, beside its tables, of a modelled CPU that is the one of this machine.
struct ThisMachine {
    std::optional<record::Calibration> calibration;
    int virtual_cpus = 0;         ///< of a virtual machine, whose host may run others on the same CPU; 0: it is none
    ThirdLevelFound third_level;  ///< not by calibration
    double large_page_walk = 0;   ///< as TranslationGeometry has it; 0: not known but by calibration
    bool are_siblings = false;    ///< two of these may be of one core; else each is taken to have its own
};

}  // namespace tmaprobe::model
