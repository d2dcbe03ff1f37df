#pragma once

#include <string>

#include "machine/cpuid.h"

namespace tmaprobe::machine {

/// CPUID as a processor gave it, from tests/machine/cpuid/<name>.txt. Leaves that are not there are zero.
/// A missing file ends the test program: nothing could be tested.
CpuidReader recorded_cpuid(const std::string& name);

}  // namespace tmaprobe::machine
