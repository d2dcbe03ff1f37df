#include "model/loop_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/hash.h"

namespace tmaprobe::model {
namespace {

using core::StepTimes;

constexpr std::size_t longest_loop = 256;  ///< instructions
constexpr std::size_t least_times = 4, most_candidates = 8, longest_chain = 2048;

/// From one execution of an instruction to the next one.
struct Lap {
    std::size_t begin = 0, end = 0;  ///< steps
    std::uint64_t way = 0;           ///< the same for the same instructions
};

class Loop {
  public:
    Loop(const trace::Trace& trace, const core::Execution& execution) : trace_(trace), execution_(execution) {}

    /// False where this is no loop that can be shown.
    bool find(std::uint32_t hottest, std::size_t from) {
        std::vector<Lap> laps;
        std::size_t last = trace_.steps.size();
        for (std::size_t step = from; step < trace_.steps.size(); ++step) {
            if (trace_.steps[step].instruction != hottest) continue;
            if (last < step && step - last <= longest_loop) laps.push_back({last, step, way_of(last, step)});
            last = step;
        }
        std::map<std::uint64_t, std::size_t> ways;
        for (const Lap& lap : laps) ++ways[lap.way];
        const auto most = std::ranges::max_element(ways, {}, [](const auto& one) { return one.second; });
        if (most == ways.end() || most->second < least_times) return false;
        for (const Lap& lap : laps)
            if (lap.way == most->first) laps_.push_back(lap);
        return choose();
    }

    counters::LoopTimes times(const std::vector<std::string>& port_names, const OwnAddresses& addresses) {
        counters::LoopTimes times;
        times.cycles = median_cycles_;
        times.times_around = laps_.size();
        times.hottest = addresses.real_code(instruction(hot_).address);
        const std::uint64_t base = execution_.steps[begin_].renamed;
        for (std::size_t step = begin_; step < begin_ + length_; ++step) {
            const StepTimes& own = execution_.steps[step];
            counters::LoopStepTimes& shown = times.steps.emplace_back();
            shown.address = addresses.real_code(instruction(step).address);
            shown.renamed = own.renamed - base;
            shown.issued = own.issued - base;
            shown.done = own.done - base;
            shown.retired = own.retired - base;
            if (own.waits_for != StepTimes::nothing) shown.waits_for = place_of(own.waits_for);
        }
        add_ports(port_names, times);
        add_chain(times);
        return times;
    }

  private:
    const trace::StaticInstruction& instruction(std::size_t step) const {
        return trace_.instructions[trace_.steps[step].instruction];
    }

    std::uint64_t way_of(std::size_t begin, std::size_t end) const {
        std::uint64_t way = end - begin;
        for (std::size_t step = begin; step < end; ++step) way = (way ^ trace_.steps[step].instruction) * golden_factor;
        return way;
    }

    /// From when its hottest instruction had all that it needs to when it had it again.
    double cycles_of(const Lap& lap) const {
        return static_cast<double>(execution_.steps[lap.end].waited_until) -
               static_cast<double>(execution_.steps[lap.begin].waited_until);
    }

    /// The lap with the median of cycles whose neighbours go the same way, from where the loop begins.
    bool choose() {
        std::vector<double> cycles;
        for (const Lap& lap : laps_) cycles.push_back(cycles_of(lap));
        std::ranges::sort(cycles);
        const std::size_t middle = cycles.size() / 2;
        median_cycles_ = cycles.size() % 2 ? cycles[middle] : (cycles[middle - 1] + cycles[middle]) / 2;
        const Lap* best = nullptr;
        const auto off = [&](const Lap& lap) { return std::abs(cycles_of(lap) - median_cycles_); };
        for (std::size_t i = 1; i + 1 < laps_.size(); ++i) {
            if (laps_[i - 1].end != laps_[i].begin || laps_[i].end != laps_[i + 1].begin) continue;
            if (!best || off(laps_[i]) < off(*best)) best = &laps_[i];
        }
        if (!best) return false;
        length_ = best->end - best->begin;
        // A loop begins where its branch back leads to: the furthest back, where loops are in it.
        std::size_t head = best->begin;
        for (std::size_t step = best->begin; step < best->end; ++step) {
            const auto& from = instruction(step);
            if (!from.branch || from.call || from.returns) continue;
            const std::uint64_t to = instruction(step + 1).address;
            if (to <= from.address && (head == best->begin || to < instruction(head).address)) head = step + 1;
        }
        begin_ = head;
        hot_ = head == best->begin ? best->begin : best->end;
        return true;
    }

    /// Index of the same instruction in the lap that is shown, if this step is of a lap of its way.
    std::optional<std::uint64_t> place_of(std::size_t step) const {
        const std::size_t ahead = (longest_chain + 1) * length_;
        if (step + ahead < begin_ || step >= begin_ + length_) return std::nullopt;
        const std::size_t place = (step + ahead - begin_) % length_;
        if (trace_.steps[begin_ + place].instruction != trace_.steps[step].instruction) return std::nullopt;
        return place;
    }

    /// Spread evenly, as far as each operation has a choice: the busiest port is as little busy as can be.
    void add_ports(const std::vector<std::string>& names, counters::LoopTimes& times) const {
        std::vector<core::TakenPort> taken;
        for (const core::TakenPort& one : execution_.ports)
            if (one.step >= begin_ && one.step < begin_ + length_) taken.push_back(one);
        const auto for_each_port = [&](const core::TakenPort& one, const auto& visit) {
            for (std::size_t port = 0; port < names.size(); ++port)
                if (one.ports >> port & 1) visit(port);
        };
        for (const core::TakenPort& one : taken)
            for_each_port(one, [&](std::size_t port) {
                auto& ports = times.steps[one.step - begin_].ports;
                if (std::ranges::find(ports, names[port]) == ports.end()) ports.push_back(names[port]);
            });
        // Who has the least choice comes first.
        std::ranges::stable_sort(taken, {}, [](const auto& one) { return std::popcount(one.ports); });
        constexpr unsigned parts = 60;  // of a cycle
        std::vector<std::uint64_t> busy(names.size());
        for (const core::TakenPort& one : taken)
            for (unsigned part = 0; part < parts * one.cycles; ++part) {
                std::size_t least = names.size();
                for_each_port(one, [&](std::size_t port) {
                    if (least == names.size() || busy[port] < busy[least]) least = port;
                });
                if (least < names.size()) ++busy[least];
            }
        for (std::size_t port = 0; port < names.size(); ++port)
            if (busy[port]) times.port_cycles[names[port]] = static_cast<double>(busy[port]) / parts;
    }

    /// Back from the hottest instruction to the results that it waited for, until one comes again.
    void add_chain(counters::LoopTimes& times) const {
        std::vector<std::size_t> way{hot_};  // steps, the last first
        std::map<std::uint64_t, std::size_t> met;
        std::size_t again = 0, first = 0;
        for (std::size_t step = hot_; way.size() < longest_chain;) {
            const auto place = place_of(step);
            if (!place) {
                way.pop_back();
                break;
            }
            const auto [known, is_new] = met.try_emplace(*place, way.size() - 1);
            if (!is_new) {
                first = known->second;
                again = way.size() - 1;
                break;
            }
            step = execution_.steps[step].waits_for;
            if (step == StepTimes::nothing) break;
            way.push_back(step);
        }
        if (again) times.chain_times_around = (way[first] - way[again] + length_ / 2) / length_;
        const std::size_t last = again ? again : way.size() - 1;
        if (way.empty() || last == first) return;
        // What comes again stands once: at the chain's begin.
        for (std::size_t i = last + 1; i-- > first;) {
            if (again && i == first) break;
            const auto place = place_of(way[i]);
            const std::uint64_t here = execution_.steps[way[i]].waited_until;
            const std::uint64_t next =
                i > first ? execution_.steps[way[i - 1]].waited_until : execution_.steps[way[i]].done;
            times.chain.push_back(*place);
            times.chain_cycles.push_back(next > here ? next - here : 0);
        }
    }

    const trace::Trace& trace_;
    const core::Execution& execution_;
    std::vector<Lap> laps_;  ///< that go the same way
    double median_cycles_ = 0;
    std::size_t begin_ = 0, length_ = 0, hot_ = 0;
};

}  // namespace

std::optional<counters::LoopTimes> loop_times(const trace::Trace& trace, std::size_t lead_in,
                                              const std::vector<std::uint64_t>& slots, const core::Execution& execution,
                                              const std::vector<std::string>& port_names,
                                              const OwnAddresses& addresses) {
    std::vector<std::uint32_t> order(slots.size());
    std::iota(order.begin(), order.end(), 0u);
    const std::size_t candidates = std::min(most_candidates, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(candidates), order.end(),
        [&](std::uint32_t a, std::uint32_t b) { return std::pair(slots[b], a) < std::pair(slots[a], b); });
    for (std::size_t i = 0; i < candidates && slots[order[i]]; ++i) {
        Loop loop(trace, execution);
        if (loop.find(order[i], lead_in)) return loop.times(port_names, addresses);
    }
    return std::nullopt;
}

}  // namespace tmaprobe::model
