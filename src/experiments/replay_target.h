#pragma once

#include <optional>
#include <vector>

#include "events/table.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Whether recorded counts are rather another CPU's: most are events of one whose table `table` is not, and clearly
/// fewer are of `table`. Says which; nothing where the target may be right, or no other fits better. What every CPU
/// counts (cycles, instructions) tells nothing. Errors: those of events::load().
Result<std::optional<record::Warning>> wrong_target(const events::Library& library, const events::Table& table,
                                                    const std::vector<record::Event>& events);

}  // namespace tmaprobe::experiments
