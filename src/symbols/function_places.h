#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tmaprobe::symbols {

/// Where a function lies in a file.
struct FunctionPlace {
    std::string linker_name;  ///< as the symbol table has it
    std::string name;         ///< the same as a person reads it
    std::uint64_t offset = 0, bytes = 0;
};

/// All that the symbol tables of an ELF file name, each place and name once. Errors: unavailable where it is none of
/// this machine's, or broken.
Result<std::vector<FunctionPlace>> functions_of(const std::string& file);

/// The same of names that are wanted, as the linker has them, and without FunctionPlace::name; none of what cannot be
/// read.
using WantedName = std::function<bool(const std::string& linker_name)>;
std::vector<FunctionPlace> functions_named(const std::string& file, const WantedName& wanted);

/// Whether the loader chooses functions of an ELF file by what the CPU has (ifunc). False for what cannot be read.
bool loader_chooses(const std::string& file);

/// "ns::f(int) const" as "ns::f".
std::string without_parameters(const std::string& name);

}  // namespace tmaprobe::symbols
