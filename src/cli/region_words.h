#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "experiments/run.h"

namespace tmaprobe::cli {

/// Which regions are told apart, in the words of the command line.
struct RegionWords {
    bool listen = false, ignore = false;
    std::vector<std::string> functions;

    bool any() const { return listen || !functions.empty(); }
};

void add_region_options(CommandLine app, RegionWords& words);

/// Errors: bad_usage for words that contradict each other.
Result<experiments::RegionRequest> region_request(const RegionWords& words);

}  // namespace tmaprobe::cli
