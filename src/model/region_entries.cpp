#include "model/region_entries.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

constexpr std::uint64_t part_of_all = 4;  ///< a stretch is that part of all before it

/// The time of what a window stands for, in ns on the target.
double time_of(const EntryWindow& window, const ModelledCpu& cpu) {
    const double instructions = value_of(window.facts.base, "instructions");
    if (instructions <= 0) return 0;
    return window.entries * window.instructions * cycles_of(window.facts.base) / instructions / cpu.frequency_hz * 1e9;
}

/// A variation that a window does not have changes nothing of it.
const Facts& varied(const WindowFacts& window, record::Variation what) {
    const auto found = std::ranges::find(window.variations, what, &FactVariation::what);
    return found == window.variations.end() ? window.base : found->facts;
}

}  // namespace

EntryPlaces::EntryPlaces(std::size_t window_instructions, std::uint64_t seed)
    : window_(std::max<std::size_t>(1, window_instructions)), seed_(seed) {}

std::uint64_t EntryPlaces::stretch_end(std::size_t stretch) const {
    std::uint64_t end = window_;
    for (std::size_t i = 0; i < stretch; ++i) end += std::max(window_, end / part_of_all);
    return end;
}

bool EntryPlaces::step() {
    const bool complete = ++executed_ == window_begin_ + window_;
    if (executed_ == stretch_end(stretch_)) {
        ++stretch_;
        place_window();
    }
    return complete;
}

void EntryPlaces::place_window() {
    const std::uint64_t length = stretch_end(stretch_) - executed_;
    window_begin_ = executed_ + Random(seed_ ^ stretch_).below(length - window_ + 1);
}

std::vector<double> EntryPlaces::stand_for(std::size_t windows) const {
    std::vector<double> instructions(windows);
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < windows; ++i) {
        // What comes after the last window is like it.
        const std::uint64_t end = i + 1 == windows ? executed_ : std::min(executed_, stretch_end(i));
        instructions[i] = static_cast<double>(end - begin);
        begin = end;
    }
    return instructions;
}

std::vector<WindowFacts> moments_of(const std::vector<EntryWindow>& windows, std::uint32_t region, double native_ns,
                                    const ModelledCpu& cpu) {
    std::map<std::uint32_t, std::vector<const EntryWindow*>> entries;
    for (const EntryWindow& window : windows)
        if (window.region == region && value_of(window.facts.base, "instructions") > 0)
            entries[window.entry].push_back(&window);
    std::vector<WindowFacts> moments;
    double all_ns = 0;
    for (const auto& [number, of_entry] : entries) {
        WindowFacts& moment = moments.emplace_back();
        moment.process = of_entry.front()->facts.process;
        for (const EntryWindow* window : of_entry) {
            for (const FactVariation& variation : window->facts.variations)
                if (std::ranges::find(moment.variations, variation.what, &FactVariation::what) ==
                    moment.variations.end())
                    moment.variations.push_back({variation.what, {}, {}, {}, {}});
            moment.native_ns += time_of(*window, cpu);
        }
        for (const EntryWindow* window : of_entry) {
            const double times = window->instructions / value_of(window->facts.base, "instructions");
            add(moment.base, window->facts.base, times);
            if (of_entry.size() > 1) moment.parts.push_back(window->facts.base);
            for (FactVariation& variation : moment.variations)
                add(variation.facts, varied(window->facts, variation.what), times);
        }
        all_ns += moment.native_ns;
    }
    if (native_ns > 0 && all_ns > 0)
        for (WindowFacts& moment : moments) moment.native_ns *= native_ns / all_ns;
    return moments;
}

double like_so_many_instructions(const std::vector<EntryWindow>& windows, std::uint32_t region) {
    double all = 0, squares = 0;
    for (const EntryWindow& window : windows) {
        const double simulated = value_of(window.facts.base, "instructions");
        if (window.region != region || simulated <= 0) continue;
        const double stands_for = window.entries * window.instructions;
        all += stands_for;
        squares += stands_for * stands_for / simulated;
    }
    return squares > 0 ? all * all / squares : 0;
}

double time_of_entries(const SeenInRegion& whole, const std::vector<EntryWindow>& windows, std::uint32_t region) {
    if (whole.instructions <= 0) return 0;
    return whole.native_ns * like_so_many_instructions(windows, region) / whole.instructions;
}

void append_entries(std::vector<EntryWindow>& entries, const SeenInRegion& whole, const ModelledCpu& cpu,
                    std::vector<WindowFacts>& windows) {
    if (entries.empty()) return;
    const double wanted_ns = time_of_entries(whole, entries, entries.front().region);
    double all_ns = 0;
    for (const EntryWindow& entry : entries) all_ns += time_of(entry, cpu);
    if (all_ns <= 0) return;
    for (EntryWindow& entry : entries) {
        entry.facts.native_ns = time_of(entry, cpu) * (wanted_ns > 0 ? wanted_ns / all_ns : 1);
        windows.push_back(std::move(entry.facts));
    }
}

}  // namespace tmaprobe::model
