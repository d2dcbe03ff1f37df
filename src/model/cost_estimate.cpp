#include "model/cost_estimate.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::model {

CostEstimate estimate_cost(const std::map<std::uint64_t, double>& executions,
                           const std::vector<std::map<std::uint64_t, SampledCode>>& windows) {
    CostEstimate estimate;
    std::map<std::uint64_t, SampledCode> sampled;
    SampledCode all;
    for (const auto& window : windows)
        for (const auto& [address, code] : window) {
            auto& sum = sampled[address];
            sum.executions += code.executions;
            sum.cycles += code.cycles;
            all.executions += code.executions;
            all.cycles += code.cycles;
        }
    if (all.executions <= 0) return estimate;
    const double usual = all.cycles / all.executions;
    for (const auto& [address, count] : executions) {
        const auto known = sampled.find(address);
        const bool is_known = known != sampled.end() && known->second.executions > 0;
        const double each = is_known ? known->second.cycles / known->second.executions : usual;
        // A window may begin in the middle of what was counted otherwise: none is left out for that.
        const double taken = known != sampled.end() ? known->second.cycles : 0;
        const double others = is_known ? std::max(0.0, count - known->second.executions) : count;
        const double cycles = taken + others * each;
        estimate.by_address[address] = cycles;
        estimate.cycles += cycles;
    }
    estimate.sampled = all.executions;
    double squares = 0;
    for (const auto& window : windows) {
        double apart = 0;
        for (const auto& [address, code] : window) {
            const auto& sum = sampled[address];
            const auto counted = executions.find(address);
            if (sum.executions <= 0 || counted == executions.end()) continue;
            const double others = std::max(0.0, counted->second - sum.executions);
            apart += others / sum.executions * (code.cycles - sum.cycles / sum.executions * code.executions);
        }
        squares += apart * apart;
    }
    const auto count = static_cast<double>(windows.size());
    if (count > 1) estimate.standard_error = std::sqrt(squares * count / (count - 1));
    return estimate;
}

}  // namespace tmaprobe::model
