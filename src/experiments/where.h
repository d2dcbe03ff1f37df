#pragma once

#include <vector>

#include "counters/slot_attribution.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Names the instructions that slots are put down to, and sums them up to modules, functions and lines. What has no
/// symbols keeps its module and address; why, the warnings say.
record::Where where_of(const counters::SlotAttribution& attribution, std::vector<record::Warning>& warnings);

/// Says that all of it is of a region (if `region` is not empty), and warns where nothing of that was met.
void name_region(const std::string& region, record::Where& where, std::vector<record::Warning>& warnings);

}  // namespace tmaprobe::experiments
