#pragma once

#include <string_view>

#include "base/json/value.h"
#include "base/json/writer.h"

namespace tmaprobe::json {

/// Writes a value of a document with all that is in it.
void write_value(Writer& writer, Value value);

/// Writes `base` with what `patch` changes in it (JSON Merge Patch, RFC 7396): objects by member, null takes a member
/// away, everything else is replaced whole. Either may be missing. A member of the outermost object that is called
/// `left_out` is not written.
void write_merged(Writer& writer, Value base, Value patch, std::string_view left_out = {});

}  // namespace tmaprobe::json
