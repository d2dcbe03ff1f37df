#include "model/cost_estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "model/taken_out.h"

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

/// Events of a whole run beyond what its instructions have of them on average in the windows.
class EventsApart {
  public:
    EventsApart(const CountedEvents& events, const std::map<std::uint64_t, double>& executions,
                const std::map<std::uint64_t, Known>& sampled)
        : events_(events) {
        for (const auto& [address, followed] : events.all) {
            const auto counted = executions.find(address);
            const auto known = sampled.find(address);
            if (counted == executions.end() || known == sampled.end() || known->second.is_rare()) continue;
            if (counted->second <= known->second.sum.executions) continue;  // all of it is known
            Here& here = here_[address];
            if (followed.executions > 0) here.raised = std::max(1.0, counted->second / followed.executions);
            const SampledCode& sum = known->second.sum;
            for (std::size_t i = 0; i < dear_events; ++i) {
                if (sum.executions > 0) here.usual[i] = sum.events[i] / sum.executions;
                here.in_run[i] = followed.executions > 0 ? followed.events[i] / followed.executions : 0;
                here.apart[i] = here.raised * followed.events[i] - here.usual[i] * counted->second;
            }
        }
    }

    std::vector<Regressor> regressors(const std::vector<WindowCosts>& windows) const {
        std::vector<Regressor> all(here_.empty() ? 0 : dear_events);
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i].windows.resize(windows.size());
            all[i].made_of[i] = 1;
            for (const auto& [address, here] : here_) all[i].others += here.apart[i];
        }
        if (all.empty()) return all;
        for (std::size_t window = 0; window < windows.size(); ++window)
            for (const auto& [address, code] : windows[window])
                if (const auto here = here_.find(address); here != here_.end())
                    for (std::size_t i = 0; i < dear_events; ++i)
                        all[i].windows[window] += code.events[i] - here->second.usual[i] * code.executions;
        return all;
    }

    /// Adds to each address the cycles that its events take beyond the usual; their sum.
    double share_out(const EventCounts& cycles_of_events, std::map<std::uint64_t, double>& by_address) const {
        double sum = 0;
        for (const auto& [address, here] : here_) {
            const double cycles = product(here.apart, cycles_of_events);
            by_address[address] += cycles;
            sum += cycles;
        }
        return sum;
    }

    /// Of having followed stretches and not the whole run, squared.
    double error_square(const EventCounts& cycles_of_events) const {
        if (!events_.stretches) return 0;
        double square = 0, followed = 0, all = 0;
        for (const auto& stretch : *events_.stretches) {
            double apart = 0;
            for (const FollowedCode& code : stretch) {
                const auto found = here_.find(code.address);
                if (found == here_.end()) continue;
                const Here& here = found->second;
                followed += code.executions;
                all += here.raised * code.executions;
                for (std::size_t i = 0; i < dear_events; ++i)
                    apart += cycles_of_events[i] * here.raised * (code.events[i] - here.in_run[i] * code.executions);
            }
            square += apart * apart;
        }
        return all > 0 ? square * (1 - followed / all) : 0;
    }

  private:
    /// Of the events at one address: what is usual in the windows and in what was followed, by its executions; how much
    /// of the run one followed execution stands for; and what there are beyond the usual.
    struct Here {
        EventCounts usual{}, in_run{}, apart{};
        double raised = 1;
    };

    static double product(const EventCounts& one, const EventCounts& other) {
        return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
    }

    const CountedEvents& events_;
    std::map<std::uint64_t, Here> here_;
};

}  // namespace

void SampledCode::add(const SampledCode& more) {
    executions += more.executions;
    cycles += more.cycles;
    for (std::size_t i = 0; i < dear_events; ++i) events[i] += more.events[i];
}

CostEstimate estimate_cost(const std::map<std::uint64_t, double>& executions, const std::vector<WindowCosts>& windows,
                           const std::vector<WindowCosts>& awaited, const CountedEvents& events) {
    CostEstimate estimate;
    std::map<std::uint64_t, Known> sampled;
    SampledCode all;
    const auto add = [&](Known& known, const SampledCode& code) {
        known.sum.add(code);
        all.add(code);
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
            if (others_of(address) <= 0) continue;  // all of it is known
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
        Regressor& way = ways.emplace_back(Regressor{Column(windows.size()), others_of(address), {}});
        for (std::size_t i = 0; i < windows.size(); ++i)
            if (const auto code = windows[i].find(address); code != windows[i].end())
                way.windows[i] = code->second.executions;
    }
    TakenOut out(apart);
    const EventsApart events_apart(events, executions, sampled);
    out.take_out_events(events_apart.regressors(windows));
    out.take_out_ways(std::move(ways));
    // What events take is theirs where they happened; the rest is everybody's.
    const double of_events = events_apart.share_out(out.of_events(), estimate.by_address);
    if (frequent_cycles > 0)
        for (const auto& [address, known] : sampled)
            if (!known.is_rare() && executions.contains(address))
                estimate.by_address[address] *= 1 + (out.cycles() - of_events) / (frequent_cycles + of_events);
    estimate.cycles += out.cycles();
    const double raised = frequent > 0 ? frequent_others / frequent : 0;
    const Column raised_each = out.raised();
    for (std::size_t i = 0; i < apart.size(); ++i)
        rare_apart[i] += (raised_each.empty() ? raised : raised_each[i]) * apart[i];
    const auto count = static_cast<double>(rare_apart.size());
    double square = events_apart.error_square(out.of_events());
    if (count > 1) square += product(rare_apart, rare_apart) * count / (count - 1);
    estimate.standard_error = std::sqrt(square);
    return estimate;
}

}  // namespace tmaprobe::model
