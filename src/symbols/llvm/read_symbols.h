#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/locations.h"

namespace tmaprobe::symbols {

/// As locate(), in this process: LLVM may end it when a file is broken. Errors: unavailable.
Result<std::vector<Location>> read_symbols(const std::string& path, const std::vector<std::uint64_t>& offsets);

/// Of a file that is in memory.
Result<std::vector<Location>> read_symbols_of_image(const std::string& image,
                                                    const std::vector<std::uint64_t>& offsets);

/// As variables(), in this process. Errors: unavailable.
Result<std::vector<Variable>> read_variables(const std::string& path, const std::vector<std::uint64_t>& addresses);

/// As entries(), in this process. Errors: unavailable.
Result<std::vector<std::uint64_t>> read_entries(const std::string& path, const std::vector<std::uint64_t>& functions,
                                                const std::vector<ExecutedCode>& executed);

}  // namespace tmaprobe::symbols
