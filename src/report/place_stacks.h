#pragma once

#include <string>
#include <vector>

#include "record/where.h"

namespace tmaprobe::report {

/// Slots of one line for one cause.
struct PlaceStack {
    std::vector<std::string> frames;  ///< the outermost first: callers, function, what is inlined into it, line
    std::string cause;
    double slots = 0;
};

/// All slots by the calls that led there, or, of a record that has none, by program and line; what is not listed is
/// "further places". Text from the record is cleaned.
std::vector<PlaceStack> stacks_of(const record::Where& where);

/// All waits for memory by the data that were waited for: of blocks below the functions that allocated them, from main.
std::vector<PlaceStack> stacks_of_data(const record::Where& where);

}  // namespace tmaprobe::report
