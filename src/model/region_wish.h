#pragma once

#include <string>
#include <vector>

#include "trace/region_watch.h"

namespace tmaprobe::model {

/// A function that is a region, and where it is in the files that a process has mapped.
struct FunctionRegion {
    std::string name;
    std::vector<trace::RegionFunction> places;  ///< their numbers are filled in by watched_functions()
};

/// Which regions of a command are told apart.
struct RegionWish {
    bool marks = false;  ///< those that the program marks
    std::vector<FunctionRegion> functions;

    bool any() const { return marks || !functions.empty(); }
};

/// All places of functions, each with the number of its region.
std::vector<trace::RegionFunction> watched_functions(const RegionWish& wish);

}  // namespace tmaprobe::model
