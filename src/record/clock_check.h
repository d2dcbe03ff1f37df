#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/names.h"

namespace tmaprobe::record {

/// What the clock says of a model.
enum class ClockVerdict {
    not_judged,  ///< too few windows, or no measured time, or not without others
    agrees,
    doubtful,
};

/// The model of this very machine against its clock: all instructions of a command, which was followed from its start
/// to its end, against a run of it by itself; or an operation of a kernel, against its time.
struct ClockCheck {
    std::uint64_t windows = 0;  ///< simulated ones, on which the modelled time stands
    double instructions = 0;    ///< that were executed; of a kernel, of an operation
    double clock_hz = 0;        ///< of the core, measured
    double modelled_ns = 0;     ///< of all instructions at that clock
    double measured_ns = 0;     ///< processor time in the command's own code, or of an operation; 0: not known
    double ratio = 0;           ///< modelled over measured
    ClockVerdict verdict = ClockVerdict::not_judged;
};

}  // namespace tmaprobe::record

template <>
struct tmaprobe::Names<tmaprobe::record::ClockVerdict> {
    using enum record::ClockVerdict;
    static constexpr std::array<std::pair<record::ClockVerdict, std::string_view>, 3> values{
        {{not_judged, "not_judged"}, {agrees, "agrees"}, {doubtful, "doubtful"}}};
};
