#include "experiments/where.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "experiments/allocated_blocks.h"
#include "experiments/call_paths.h"
#include "experiments/code_loops.h"
#include "experiments/code_points.h"
#include "experiments/data_places.h"
#include "experiments/loop_timelines.h"
#include "experiments/measured_places.h"
#include "experiments/shares.h"

namespace tmaprobe::experiments {
namespace {

using counters::SlotsByCause;
using record::CodePlace;
using record::PlaceKind;

/// Slots of one set of windows, by instruction.
using Point = std::size_t;
using SlotsOfPoints = std::vector<std::pair<Point, WeightedSlots>>;

/// Where instructions are the same place. Without a line or a function the place is what is known: the function's
/// beginning, or the module.
using Key = std::tuple<std::string, std::string, std::string, std::string, std::uint64_t, std::uint64_t>;

Key key_of(PlaceKind kind, const CodePoint& point, Point number) {
    const auto& located = point.located;
    if (kind == PlaceKind::module) return {point.module, "", "", "", 0, 0};
    if (kind == PlaceKind::instruction) return {point.module, "", "", "", number, 0};
    const symbols::Frame inner = located.frames.empty() ? symbols::Frame() : located.frames.front();
    const std::string outer = located.frames.size() > 1 ? located.frames.back().function : "";
    const bool by_line = kind == PlaceKind::line;
    return {point.module, inner.function, outer, by_line ? inner.file : "", by_line ? inner.line : 0, located.begins};
}

class Summing {
  public:
    Summing(const counters::SlotAttribution& attribution, std::vector<record::Warning>& warnings)
        : attribution_(attribution),
          warnings_(warnings),
          calls_(attribution, points_, warnings),
          measured_(attribution, points_) {
        for (const auto& window : attribution.windows) {
            windows_.push_back(weighted(window, window.slots));
            for (const auto& varied : window.variations) variations_.insert(varied.what);
        }
        for (const auto& window : attribution.windows)
            for (const auto& varied : window.variations)
                varied.slots.for_each(
                    [&](std::uint64_t address, const SlotsByCause&) { points_.number(attribution, window, address); });
        for (const auto& window : attribution.windows) code_loops_.add(attribution, window, points_);
        number_loop_steps(attribution, points_);
        number_allocating_calls(attribution, points_);
        points_.locate(warnings);
    }

    record::Where where() {
        record::Where where;
        where.slot_width = attribution_.slot_width;
        WeightedSlots all{};
        for (const auto& window : windows_)
            for (const auto& [point, slots] : window) add(all, slots);
        where.slots = by_name(all);
        where.modules = places(PlaceKind::module, nullptr);
        where.functions = places(PlaceKind::function, nullptr);
        where.lines = places(PlaceKind::line, &where.further_lines);
        where.instructions = places(PlaceKind::instruction, &where.further_instructions);
        where.loops = loop_places();
        where.calls = calls_.places(points_);
        where.samples = measured_.about();
        where.timelines = loop_timelines(attribution_, points_, shares_of_points());
        add_data_places(attribution_, points_, variations_, warnings_, where);
        return where;
    }

  private:
    std::vector<double> shares_of_points() const {
        std::vector<double> shares(points_.size(), 0);
        double all = 0;
        for (const auto& window : windows_)
            for (const auto& [point, slots] : window) {
                shares[point] += total(slots);
                all += total(slots);
            }
        for (double& share : shares) share = all > 0 ? share / all : 0;
        return shares;
    }

    SlotsOfPoints weighted(const counters::AttributedWindow& window, const counters::InstructionSlots& slots) {
        SlotsOfPoints of_window;
        slots.for_each([&](std::uint64_t address, const SlotsByCause& counts) {
            auto& [point, weighted] =
                of_window.emplace_back(points_.number(attribution_, window, address), WeightedSlots{});
            add(weighted, counts, window.weight);
        });
        return of_window;
    }

    static PlacedSlots placed(const SlotsOfPoints& window, const std::vector<std::size_t>& place_of) {
        PlacedSlots slots;
        for (const auto& [point, counts] : window) {
            slots.of_places.emplace_back(place_of[point], total(counts));
            slots.all += slots.of_places.back().second;
        }
        return slots;
    }

    Shares shares(const std::vector<std::size_t>& place_of, std::size_t places) {
        std::vector<PlacedSlots> windows;
        for (const auto& window : windows_) windows.push_back(placed(window, place_of));
        std::vector<std::vector<PlacedSlots>> variations;
        for (const record::Variation what : variations_) {
            auto& varied = variations.emplace_back(windows);
            for (std::size_t i = 0; i < windows_.size(); ++i)
                // A window that cannot tell the variations apart is the same in each.
                if (const auto* own = varied_slots(attribution_.windows[i], what))
                    varied[i] = placed(weighted(attribution_.windows[i], own->slots), place_of);
        }
        return shares_of(places, windows, variations, attribution_.windows_differ);
    }

    CodePlace describe(PlaceKind kind, const CodePoint& point) const {
        CodePlace place;
        const auto& located = point.located;
        place.module = point.module;
        if (kind == PlaceKind::module) return place;
        place.address = kind == PlaceKind::instruction ? located.address : located.begins;
        if (kind == PlaceKind::instruction) place.instruction = located.instruction;
        if (located.frames.empty()) return place;
        const symbols::Frame& inner = located.frames.front();
        place.function = inner.function;
        if (located.frames.size() > 1) place.inlined_into = located.frames.back().function;
        place.file = inner.file;
        place.first_line = place.last_line = inner.line;
        return place;
    }

    /// Of instructions, each a place.
    std::map<Point, record::InstructionCounts> counts_of_points() {
        struct Sum {
            double executions = 0, loads = 0, missed = 0, cycles = 0, mispredictions = 0;
        };
        std::map<Point, Sum> sums;
        for (const auto& window : attribution_.windows)
            window.events.for_each([&](std::uint64_t address, const counters::InstructionEvents::Counts& counts) {
                const auto point = points_.find(attribution_, window, address);
                if (!point) return;
                Sum& sum = sums[*point];
                sum.executions += window.weight * static_cast<double>(counts.executions);
                sum.loads += window.weight * static_cast<double>(counts.loads);
                sum.missed += window.weight * static_cast<double>(counts.missed_l1);
                sum.cycles += window.weight * static_cast<double>(counts.load_cycles);
                sum.mispredictions += window.weight * static_cast<double>(counts.mispredictions);
            });
        std::map<Point, record::InstructionCounts> all;
        for (const auto& [point, sum] : sums) {
            if (sum.executions <= 0) continue;
            const double of_loads = sum.loads > 0 ? 1 / sum.loads : 0;
            all[point] = {sum.loads / sum.executions, sum.cycles * of_loads, sum.missed * of_loads,
                          sum.mispredictions / sum.executions};
        }
        return all;
    }

    static void widen(CodePlace& place, const CodePoint& point) {
        if (point.located.frames.empty()) return;
        const symbols::Frame& frame = point.located.frames.front();
        if (frame.line == 0) return;
        if (place.first_line == 0) {
            place.file = frame.file;
            place.first_line = place.last_line = frame.line;
        }
        if (frame.file != place.file) return;
        place.first_line = std::min<std::uint64_t>(place.first_line, frame.line);
        place.last_line = std::max<std::uint64_t>(place.last_line, frame.line);
    }

    /// Slots and shares of places, of which each instruction is one; returns the slots.
    std::vector<WeightedSlots> fill(std::vector<CodePlace>& places, const std::vector<std::size_t>& place_of) {
        std::vector<WeightedSlots> slots(places.size(), WeightedSlots{});
        for (const auto& window : windows_)
            for (const auto& [point, counts] : window) add(slots[place_of[point]], counts);
        const Shares of_places = shares(place_of, places.size());
        for (std::size_t i = 0; i < places.size(); ++i) {
            places[i].slots = by_name(slots[i]);
            places[i].share = of_places.base[i];
            places[i].low = of_places.low[i];
            places[i].high = of_places.high[i];
        }
        measured_.fill(places, place_of);
        return slots;
    }

    static void most_first(std::vector<std::size_t>& order, const std::vector<CodePlace>& places) {
        std::ranges::stable_sort(order,
                                 [&](std::size_t a, std::size_t b) { return places[a].share > places[b].share; });
    }

    static CodePlace describe(const CodeLoop& loop, const CodePoint& head) {
        CodePlace place;
        place.module = head.module;
        place.address = head.located.address;
        place.function = loop.frame.function;
        place.inlined_into = loop.called_function;
        place.file = loop.frame.file;
        place.first_line = loop.frame.line;
        place.last_line = loop.last_line;
        place.loop_depth = loop.depth;
        return place;
    }

    /// Loops, and of each function that was called what is in none of its loops.
    std::vector<CodePlace> loop_places() {
        const auto loops = code_loops_.find(points_);
        std::vector<CodePlace> places;
        for (const CodeLoop& loop : loops) places.push_back(describe(loop, points_[loop.head]));
        std::map<Key, std::size_t> numbers;
        std::vector<std::size_t> place_of(points_.size());
        for (Point point = 0; point < points_.size(); ++point) {
            place_of[point] = code_loops_.innermost()[point];
            if (place_of[point] != FlowLoop::none) continue;
            CodePoint called = points_[point];
            auto& frames = called.located.frames;
            if (frames.size() > 1) frames.erase(frames.begin(), frames.end() - 1);
            const Key key = key_of(PlaceKind::function, called, point);
            const auto [known, is_new] = numbers.try_emplace(key, places.size());
            if (is_new) places.push_back(describe(PlaceKind::function, called));
            widen(places[known->second], called);
            place_of[point] = known->second;
        }
        fill(places, place_of);
        std::vector<double> with_inner;
        for (const CodePlace& place : places) with_inner.push_back(place.share);
        for (std::size_t loop = loops.size(); loop-- > 0;)  // those inside come after it
            if (loops[loop].around != FlowLoop::none) with_inner[loops[loop].around] += with_inner[loop];
        std::vector<std::size_t> order, position(places.size());
        std::vector<char> listed_too(places.size(), 0);  // a loop around one that has samples alone
        for (std::size_t i = places.size(); i-- > 0;) {
            if (with_inner[i] <= 0 && !places[i].measured && !listed_too[i]) continue;
            order.push_back(i);
            if (i < loops.size() && loops[i].around != FlowLoop::none) listed_too[loops[i].around] = 1;
        }
        std::ranges::reverse(order);
        most_first(order, places);
        for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
        std::vector<CodePlace> listed;
        for (const std::size_t i : order) {
            if (i < loops.size()) {
                places[i].share_with_inner = with_inner[i];
                if (loops[i].around != FlowLoop::none) places[i].inside = position[loops[i].around];
            }
            listed.push_back(std::move(places[i]));
        }
        return listed;
    }

    /// `rest`: takes the places beyond those that a record lists; null: all are listed.
    std::vector<CodePlace> places(PlaceKind kind, record::CauseSlots* rest) {
        constexpr std::size_t most_listed = 20000;
        std::map<Key, std::size_t> numbers;
        std::vector<std::size_t> place_of(points_.size());
        std::vector<CodePlace> places;
        std::map<Point, record::InstructionCounts> counts;
        if (kind == PlaceKind::instruction) counts = counts_of_points();
        for (Point point = 0; point < points_.size(); ++point) {
            const auto [known, is_new] = numbers.try_emplace(key_of(kind, points_[point], point), places.size());
            if (is_new) places.push_back(describe(kind, points_[point]));
            if (const auto met = counts.find(point); met != counts.end()) places[known->second].counts = met->second;
            if (kind == PlaceKind::function) widen(places[known->second], points_[point]);
            place_of[point] = known->second;
        }
        const auto slots = fill(places, place_of);
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < places.size(); ++i)
            // What only a variation met has no slots to add up.
            if (!places[i].slots.empty() || places[i].measured) order.push_back(i);
        most_first(order, places);
        WeightedSlots left_over{};
        std::vector<CodePlace> listed;
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (rest && i >= most_listed)
                add(left_over, slots[order[i]]);
            else
                listed.push_back(std::move(places[order[i]]));
        }
        if (rest) *rest = by_name(left_over);
        return listed;
    }

    const counters::SlotAttribution& attribution_;
    std::vector<record::Warning>& warnings_;
    CodePoints points_;
    CallTree calls_;
    MeasuredPlaces measured_;
    CodeLoops code_loops_;
    std::vector<SlotsOfPoints> windows_;
    std::set<record::Variation> variations_;
};

}  // namespace

record::Where where_of(const counters::SlotAttribution& attribution, std::vector<record::Warning>& warnings) {
    return Summing(attribution, warnings).where();
}

void name_region(const std::string& region, record::Where& where, std::vector<record::Warning>& warnings) {
    if (region.empty()) return;
    where.region = region;
    if (record::sum_of(where.slots) <= 0)
        warnings.push_back({"where_no_region", "no window of the model has an instruction of region " + region,
                            "its name as the program marks it, or as --region has it; --effort takes more windows"});
}

}  // namespace tmaprobe::experiments
