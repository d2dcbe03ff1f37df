#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"
#include "report/where.h"

namespace tmaprobe::report {

/// Renders records in one of writer_formats(). Errors: bad_usage for an unknown format; bad_input for
/// records that the format cannot hold. `view`: sources for the page.
Result<std::string> render(const std::vector<record::Record>& records, const std::string& format,
                           const WhereView& view = {});

/// "json", "jsonl", "csv", "markdown", "openmetrics", "html", and those of places in the code: "folded", "speedscope",
/// "callgrind", "pprof".
std::vector<std::string> writer_formats();

}  // namespace tmaprobe::report
