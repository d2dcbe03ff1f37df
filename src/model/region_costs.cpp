#include "model/region_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tmaprobe::model {
namespace {

/// How often an instruction was executed in windows, and how often of that in the region.
struct Shared {
    double all = 0, inside = 0;
    double share() const { return all > 0 ? inside / all : 0; }
};
using SharedCode = std::map<std::uint64_t, Shared>;

WindowCosts costs_in(const SimulatedWindow& window, const std::vector<std::vector<std::uint32_t>>& paths,
                     std::uint32_t region) {
    WindowCosts sum;
    for (const auto& [path, costs] : window.by_path) {
        if (path >= paths.size() || std::ranges::find(paths[path], region) == paths[path].end()) continue;
        for (const auto& [address, code] : costs) sum[address].add(code);
    }
    return sum;
}

void add(SharedCode& shared, const WindowCosts& all, const WindowCosts& inside) {
    for (const auto& [address, code] : all) shared[address].all += code.executions;
    for (const auto& [address, code] : inside) shared[address].inside += code.executions;
}

}  // namespace

CostInRegion estimate_region(const std::map<std::uint64_t, double>& executions,
                             const std::vector<SimulatedWindow>& windows, const std::vector<SimulatedWindow>& awaited,
                             const std::vector<std::vector<std::uint32_t>>& paths, std::uint32_t region,
                             const CountedEvents& events) {
    std::vector<WindowCosts> inside, awaited_inside;
    SharedCode shared, of_awaited;
    for (const SimulatedWindow& window : windows)
        add(shared, window.costs, inside.emplace_back(costs_in(window, paths, region)));
    for (const SimulatedWindow& window : awaited)
        add(of_awaited, window.costs, awaited_inside.emplace_back(costs_in(window, paths, region)));
    shared.merge(
        of_awaited);  // where somebody waited it is not by chance how much is inside: only if nothing else is known
    CostInRegion cost;
    std::map<std::uint64_t, double> executions_inside;
    CountedEvents events_inside;
    events_inside.stretches = events.stretches;
    for (const auto& [address, count] : executions) {
        const auto known = shared.find(address);
        if (known == shared.end() || known->second.inside <= 0) continue;
        executions_inside[address] = count * known->second.share();
        cost.instructions += executions_inside[address];
        const auto happened = events.all.find(address);
        if (happened != events.all.end() && known->second.inside >= known->second.all)
            events_inside.all.insert(*happened);
    }
    const CostEstimate estimate = estimate_cost(executions_inside, inside, awaited_inside, events_inside);
    cost.cycles = estimate.cycles;
    // By how much windows differ from the usual share of what is executed outside, too.
    double square = 0;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        double apart = 0;
        for (const auto& [address, code] : windows[i].costs) {
            const auto counted = executions_inside.find(address);
            if (counted == executions_inside.end()) continue;
            const Shared& known = shared.at(address);
            if (known.inside >= known.all) continue;
            const double each = estimate.by_address.at(address) / counted->second;
            const auto here = inside[i].find(address);
            const double executed = here == inside[i].end() ? 0 : here->second.executions;
            apart += each * executions.at(address) / known.all * (executed - known.share() * code.executions);
        }
        square += apart * apart;
    }
    const auto count = static_cast<double>(windows.size());
    if (count > 1) square *= count / (count - 1);
    cost.standard_error = std::hypot(estimate.standard_error, std::sqrt(square));
    return cost;
}

}  // namespace tmaprobe::model
