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

/// "5%" or "5" as a share, of an option of this name. Errors: bad_usage.
Result<double> parse_percent(const std::string& option, const std::string& text);

}  // namespace tmaprobe::cli
