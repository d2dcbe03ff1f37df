#pragma once

#include <rapidjson/document.h>

#include "base/result.h"
#include "record/record.h"

namespace tmaprobe::record {

/// from_json (record.h) of what the parser of files gives.
Result<Record> read_document(const rapidjson::Value& document);

}  // namespace tmaprobe::record
