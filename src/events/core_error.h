#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "record/slot_cause.h"

namespace tmaprobe::events {

/// Slots of one cause that may be more, or fewer, over those that are modelled: 0.1 is a tenth.
struct CauseError {
    record::SlotCause cause = record::SlotCause::dependency;
    double more = 0, less = 0;
    /// What more slots are put down to; those of `retiring` cannot be more themselves.
    record::SlotCause as = record::SlotCause::dependency;
};

/// How far the causes of a core were seen to be off by the clock.
struct CoreError {
    std::vector<std::string> folders;  ///< the targets that were timed; empty: that of all others
    std::vector<CauseError> causes;
};

/// That of a folder, from events/core-error.json. Errors: bad_input for a broken file.
Result<CoreError> read_core_error(const Library& library, const std::string& folder);

}  // namespace tmaprobe::events
