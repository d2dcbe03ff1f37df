#pragma once

#include <string>
#include <vector>

#include "machine/host.h"

namespace tmaprobe::counters {

/// One line of `tmaprobe doctor`, and the text of the error that the same cause gives when measuring.
struct Check {
    enum class State { ok, note, warning, blocks } state = State::ok;
    std::string id;    ///< stable: "paranoid", "no_pmu", "nmi_watchdog", ...
    std::string what;  ///< what was found
    std::string hint;  ///< the remedy, as a command where there is one
};

/// All checks on this machine; a `blocks` means that no hardware counter can be measured.
std::vector<Check> check_all(const machine::Host& host);

}  // namespace tmaprobe::counters
