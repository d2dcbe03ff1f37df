#include "model/cost_estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace tmaprobe::model {

namespace {

/// As many windows that are placed by chance are enough to know an instruction by.
constexpr std::size_t enough_windows = 12;

/// What one instruction did in all windows that count for it.
struct Known {
    SampledCode sum;
    std::size_t by_chance = 0;  ///< windows
    bool is_rare() const { return by_chance < enough_windows; }
};

using Column = std::vector<double>;  ///< a number for each window

double product(const Column& one, const Column& other) {
    return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

/// How often a window executed an instruction, and how often that is all executions that no window had.
struct Regressor {
    Column executions;
    double others = 0;
};

/// What an instruction takes depends on the way that leads to it: of two halves of a loop's rounds, what they share may
/// be quick in one. By how often windows went which way they differ from what all instructions take on average; how
/// often the whole run went which way is known. (A regression estimate, orthogonalized from the most frequent on.)
struct TakenOut {
    double cycles = 0;  ///< in all that no window had
    Column raised;      ///< what is left of each window stands for so many times itself; none: all for the same
};

/// Takes out of `apart` what follows from that.
TakenOut take_out_ways(Column& apart, std::vector<Regressor> ways) {
    constexpr std::size_t most_used = 12, windows_for_one = 10;
    constexpr double too_alike = 1e-3;
    double largest = 0;
    TakenOut out;
    Column fitted(apart.size());  // how much of what a window is like is fitted to itself
    for (std::size_t used = 0; used < std::min(most_used, apart.size() / windows_for_one) && !ways.empty(); ++used) {
        const auto most = std::ranges::max_element(
            ways, {}, [](const Regressor& one) { return product(one.executions, one.executions); });
        const double square = product(most->executions, most->executions);
        largest = std::max(largest, square);
        if (square <= too_alike * largest) break;
        Regressor unit = std::move(*most);
        ways.erase(most);
        for (double& value : unit.executions) value /= std::sqrt(square);
        unit.others /= std::sqrt(square);
        const auto reduce = [&](Column& column) {
            const double along = product(column, unit.executions);
            for (std::size_t i = 0; i < column.size(); ++i) column[i] -= along * unit.executions[i];
            return along;
        };
        for (Regressor& way : ways) way.others -= reduce(way.executions) * unit.others;
        out.cycles += reduce(apart) * unit.others;
        out.raised.resize(apart.size());
        for (std::size_t i = 0; i < apart.size(); ++i) {
            out.raised[i] += unit.executions[i] * unit.others;
            fitted[i] += unit.executions[i] * unit.executions[i];
        }
    }
    for (std::size_t i = 0; i < out.raised.size(); ++i) out.raised[i] /= std::max(0.5, 1 - fitted[i]);
    return out;
}

}  // namespace

CostEstimate estimate_cost(const std::map<std::uint64_t, double>& executions, const std::vector<WindowCosts>& windows,
                           const std::vector<WindowCosts>& awaited) {
    CostEstimate estimate;
    std::map<std::uint64_t, Known> sampled;
    SampledCode all;
    const auto add = [&](Known& known, const SampledCode& code) {
        known.sum.executions += code.executions;
        known.sum.cycles += code.cycles;
        all.executions += code.executions;
        all.cycles += code.cycles;
    };
    for (const auto& window : windows)
        for (const auto& [address, code] : window) {
            add(sampled[address], code);
            ++sampled[address].by_chance;
        }
    for (const auto& window : awaited)
        for (const auto& [address, code] : window)
            if (Known& known = sampled[address]; known.is_rare()) add(known, code);
    if (all.executions <= 0) return estimate;
    const auto others_of = [&](std::uint64_t address) {
        const auto counted = executions.find(address);
        return counted == executions.end() ? 0 : std::max(0.0, counted->second - sampled[address].sum.executions);
    };
    const double usual = all.cycles / all.executions;
    for (const auto& [address, count] : executions) {
        const auto known = sampled.find(address);
        const SampledCode sum = known != sampled.end() ? known->second.sum : SampledCode{};
        const bool is_known = sum.executions > 0;
        const double each = is_known ? sum.cycles / sum.executions : usual;
        // A window may begin in the middle of what was counted otherwise: none is left out for that.
        const double taken = sum.cycles;
        const double others = is_known ? std::max(0.0, count - sum.executions) : count;
        const double cycles = taken + others * each;
        estimate.by_address[address] = cycles;
        estimate.cycles += cycles;
    }
    estimate.sampled = all.executions;
    // By how much windows differ from what their instructions take on average: of what is frequent as it is, of what is
    // rare raised to all of its executions.
    Column apart(windows.size()), rare_apart;
    double frequent = 0, frequent_others = 0, frequent_cycles = 0;
    const auto add_apart = [&](const WindowCosts& window, double* of_frequent) {
        double& of_rare = rare_apart.emplace_back(0);
        for (const auto& [address, code] : window) {
            const Known& known = sampled[address];
            if (known.sum.executions <= 0 || (!of_frequent && !known.is_rare())) continue;
            const double cycles = code.cycles - known.sum.cycles / known.sum.executions * code.executions;
            if (known.is_rare())
                of_rare += others_of(address) / known.sum.executions * cycles;
            else
                *of_frequent += cycles;
        }
    };
    for (std::size_t i = 0; i < windows.size(); ++i) add_apart(windows[i], &apart[i]);
    for (const auto& window : awaited) add_apart(window, nullptr);
    std::vector<std::pair<double, std::uint64_t>> by_cycles;
    for (const auto& [address, known] : sampled) {
        if (known.is_rare() || !executions.contains(address)) continue;
        frequent += known.sum.executions;
        frequent_others += others_of(address);
        frequent_cycles += estimate.by_address[address];
        by_cycles.emplace_back(known.sum.cycles, address);
    }
    constexpr std::size_t most_ways = 200;
    std::ranges::sort(by_cycles, std::greater{});
    if (by_cycles.size() > most_ways) by_cycles.resize(most_ways);
    std::vector<Regressor> ways;
    for (const auto& [cycles, address] : by_cycles) {
        Regressor& way = ways.emplace_back(Regressor{Column(windows.size()), others_of(address)});
        for (std::size_t i = 0; i < windows.size(); ++i)
            if (const auto code = windows[i].find(address); code != windows[i].end())
                way.executions[i] = code->second.executions;
    }
    const TakenOut out = take_out_ways(apart, std::move(ways));
    if (frequent_cycles > 0)
        for (const auto& [address, known] : sampled)
            if (!known.is_rare() && executions.contains(address))
                estimate.by_address[address] *= 1 + out.cycles / frequent_cycles;
    estimate.cycles += out.cycles;
    const double raised = frequent > 0 ? frequent_others / frequent : 0;
    for (std::size_t i = 0; i < apart.size(); ++i)
        rare_apart[i] += (out.raised.empty() ? raised : out.raised[i]) * apart[i];
    const auto count = static_cast<double>(rare_apart.size());
    if (count > 1) estimate.standard_error = std::sqrt(product(rare_apart, rare_apart) * count / (count - 1));
    return estimate;
}

}  // namespace tmaprobe::model
