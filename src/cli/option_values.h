#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiments/run.h"

namespace tmaprobe::cli {

/// auto, perf, model, none or perf,model. Errors: bad_usage with a suggestion.
Result<experiments::SourceChoice> parse_source(const std::string& word);

/// "name=value" words into a kernel's options. Errors: bad_usage.
Result<> parse_options(const std::vector<std::string>& words, std::map<std::string, std::string>& options);

}  // namespace tmaprobe::cli
