#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace tmaprobe::model {

/// What a window executed at an address, and how long that took.
struct SampledCode {
    double executions = 0, cycles = 0;
};

/// Of a window, by address.
using WindowCosts = std::map<std::uint64_t, SampledCode>;

/// A program's cost from how often each of its instructions was executed, which is known, and what they took in some
/// windows: each execution that no window had is taken to cost what the others of the same instruction did on average
/// (a ratio estimate, stratified by instruction, and what depends on the way to an instruction by regression).
/// Instructions that no window had cost what all do on average.
struct CostEstimate {
    double cycles = 0;
    double standard_error = 0;                   ///< by how far windows are from the average, each instruction apart
    double sampled = 0;                          ///< executions in the windows
    std::map<std::uint64_t, double> by_address;  ///< cycles
};

/// `executions`: of the whole run, by address. `windows`: by chance anywhere in it. `awaited`: where code that is rare
/// was waited for; they count for the instructions that hardly any of the others has met.
CostEstimate estimate_cost(const std::map<std::uint64_t, double>& executions, const std::vector<WindowCosts>& windows,
                           const std::vector<WindowCosts>& awaited = {});

}  // namespace tmaprobe::model
