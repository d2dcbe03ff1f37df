#pragma once

#include <set>
#include <vector>

#include "counters/slot_attribution.h"
#include "experiments/code_points.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Sums the waits for memory up to the data that were waited for: variables of a module, what is mapped of files, heap,
/// stacks and other memory. `points`: located.
void add_data_places(const counters::SlotAttribution& attribution, const CodePoints& points,
                     const std::set<record::Variation>& variations, std::vector<record::Warning>& warnings,
                     record::Where& where);

}  // namespace tmaprobe::experiments
