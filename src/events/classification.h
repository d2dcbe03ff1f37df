#pragma once

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// Gives every metric its place: level, parent, category, subcategory and basis by categories.json, else
/// by its groups, and this project's threshold by thresholds.json where the vendor gives none, and its advice by
/// advice.json. events/README.md has the rules. Errors: bad_input for a broken file.
Result<> classify_metrics(const Library& library, Table& table);

}  // namespace tmaprobe::events
