#pragma once

#include <vector>

#include "record/record.h"

namespace tmaprobe::judge {

/// Marks the bottleneck path: of the level-1 nodes over their threshold the largest, then of its children
/// over theirs the largest, and so on. Without a node over its threshold nothing is marked.
void mark_bottleneck(std::vector<record::Metric>& metrics);

}  // namespace tmaprobe::judge
