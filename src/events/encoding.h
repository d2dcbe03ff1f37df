#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// Sets one field of an encoding, named as in the kernel's sysfs `format` ("event", "umask", "cmask",
/// "offcore_rsp", ..., or "config", "config1", "config2" as a whole). Earlier bits of the field are
/// replaced. Errors: bad_usage for a field that this PMU lacks, or a value that does not fit.
Result<> set_field(EventDefinition& event, PmuFormat format, std::string_view field, std::uint64_t value);

/// Reads a number as perf does: decimal, or hexadecimal after "0x". Errors: bad_usage.
Result<std::uint64_t> parse_number(std::string_view text);

}  // namespace tmaprobe::events
