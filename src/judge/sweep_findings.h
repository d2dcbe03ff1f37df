#pragma once

#include "machine/host.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// Writes knees (predicted for this host and found) and one sentence per page mode and per pair of modes
/// into the record's extra: "knees", "verdicts". Doubtful points take no part, and their number is said.
void judge_sweep(record::Record& record, const machine::Host& host);

}  // namespace tmaprobe::judge
