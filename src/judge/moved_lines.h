#pragma once

#include <string>
#include <vector>

#include "record/where.h"

namespace tmaprobe::judge {

/// The lines whose shares of the slots differ by more than their bounds in both, and by a point at least, the most
/// moved ones first, a sentence each: "keep.c:8 in keep_below: 84.9% of slots before, 0.2% after". A line is the same
/// where its function, its file's name and its number are.
std::vector<std::string> moved_lines(const record::Where& before, const record::Where& after);

}  // namespace tmaprobe::judge
