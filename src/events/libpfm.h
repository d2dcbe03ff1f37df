#pragma once

#include <string>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// What libpfm4 makes of "pmu::EVENT:UMASK:modifiers"; works for CPUs other than this one.
/// Errors: bad_usage with libpfm4's own message; unavailable when the library does not start.
Result<EventDefinition> encode_with_libpfm(const std::string& event);

/// Whether libpfm4 knows this PMU ("skx").
bool libpfm_has_pmu(const std::string& pmu);

}  // namespace tmaprobe::events
