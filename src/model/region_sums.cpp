#include "model/region_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/sum_of_windows.h"

namespace tmaprobe::model {
namespace {

using Paths = std::vector<std::vector<std::uint32_t>>;

constexpr double fewest_instructions = 1000;  ///< of all windows, for a tree

enum class With { inner, own };

bool has(const Paths& paths, std::uint32_t path, std::uint32_t region, With with) {
    if (path >= paths.size() || paths[path].empty()) return false;
    const auto& open = paths[path];
    return with == With::own ? open.back() == region : std::ranges::find(open, region) != open.end();
}

Facts facts_in(const std::vector<RegionFacts>& regions, const Paths& paths, std::uint32_t region, With with) {
    Facts sum;
    for (const RegionFacts& one : regions)
        if (has(paths, one.path, region, with)) add(sum, one.facts, 1);
    return sum;
}

/// The windows as if they had been of the region alone: each stands for as much less time as it is in it.
std::vector<WindowFacts> windows_in(const std::vector<WindowFacts>& windows, const Paths& paths, std::uint32_t region) {
    std::vector<WindowFacts> all;
    for (const WindowFacts& window : windows) {
        WindowFacts part;
        part.base = facts_in(window.regions, paths, region, With::inner);
        if (value_of(part.base, "instructions") <= 0 || cycles_of(part.base) <= 0) continue;
        for (const FactVariation& variation : window.variations)
            part.variations.push_back(
                {variation.what, facts_in(variation.regions, paths, region, With::inner), {}, {}, {}});
        part.native_ns = window.native_ns * cycles_of(part.base) / cycles_of(window.base);
        part.kind = window.kind;
        part.process = window.process;
        all.push_back(std::move(part));
    }
    return all;
}

std::string own_name(std::uint32_t region) { return fmt::format("own {}", region); }
std::string all_name(std::uint32_t region) { return fmt::format("all {}", region); }

/// Cycles by region, of all windows: what shares are made of, drawn with them.
Modelled shares_of(const std::vector<WindowFacts>& windows, const Paths& paths,
                   const std::vector<std::uint32_t>& numbers, const ModelledCpu& cpu, const LookedAt& looked_at) {
    const auto light = [&](const Facts& facts, const std::vector<RegionFacts>& regions) {
        Facts some{{"cycles", cycles_of(facts)}, {"instructions", value_of(facts, "instructions")}};
        for (const RegionFacts& one : regions) {
            if (one.path >= paths.size() || paths[one.path].empty()) continue;
            some[own_name(paths[one.path].back())] += cycles_of(one.facts);
            for (const std::uint32_t number : numbers)
                if (has(paths, one.path, number, With::inner)) some[all_name(number)] += cycles_of(one.facts);
        }
        return some;
    };
    std::vector<WindowFacts> all;
    for (const WindowFacts& window : windows) {
        WindowFacts& one = all.emplace_back();
        one.base = light(window.base, window.regions);
        for (const FactVariation& variation : window.variations)
            one.variations.push_back({variation.what, light(variation.facts, variation.regions), {}, {}, {}});
        one.native_ns = window.native_ns;
        one.kind = window.kind;
    }
    Modelled shares;
    if (!all.empty()) sum_up(all, true, cpu, shares, looked_at);
    return shares;
}

double share_in(const Facts& facts, const std::string& name) {
    return cycles_of(facts) > 0 ? value_of(facts, name) / cycles_of(facts) : 0;
}

record::RegionCost cost_of(std::uint32_t number, const std::vector<WindowFacts>& in_it, const Modelled& shares,
                           const RegionEvidence& evidence) {
    record::RegionCost cost;
    const auto add_window = [&](const WindowFacts& window) {
        cost.instructions += value_of(window.base, "instructions");
        cost.cycles += cycles_of(window.base);
        ++cost.windows;
    };
    for (const WindowFacts& window : in_it) add_window(window);
    for (const EntryWindow& entry : evidence.entries) {
        if (entry.region != number) continue;
        add_window(entry.facts);
        ++cost.entry_windows;
    }
    cost.share = cost.low = cost.high = share_in(shares.facts, all_name(number));
    cost.own_share = share_in(shares.facts, own_name(number));
    for (const FactVariation& variation : shares.variations) {
        const double share = share_in(variation.facts, all_name(number));
        cost.low = std::min(cost.low, share);
        cost.high = std::max(cost.high, share);
    }
    if (in_it.empty() && evidence.share_otherwise) {
        // It is not nothing: windows of the whole are too few to meet it.
        const ShareOfTime share = evidence.share_otherwise(number);
        cost.share = share.all;
        cost.own_share = share.own;
        cost.high = std::max({cost.high, share.all, share.high});
    }
    for (const trace::SeenEntries& seen : evidence.seen) {
        if (seen.region != number || seen.entries == 0) continue;
        cost.entries_seen = seen.entries;
        cost.instructions_per_entry = static_cast<double>(seen.instructions) / static_cast<double>(seen.entries);
    }
    return cost;
}

/// Beside the windows of the whole: both know all of the region, so each counts as what it has of it.
void add_moments_of_entries(const RegionEvidence& evidence, std::uint32_t number, const ModelledCpu& cpu,
                            std::vector<WindowFacts>& in_it) {
    SeenInRegion seen;
    std::uint32_t kind = 0;
    for (const WindowFacts& window : in_it) {
        seen.native_ns += window.native_ns;
        seen.instructions += value_of(window.base, "instructions");
        kind = std::max(kind, window.kind + 1);
    }
    const double native_ns = time_of_entries(seen, evidence.entries, number);
    for (WindowFacts& moment : moments_of(evidence.entries, number, native_ns, cpu)) {
        // One kind: they are alike in where they begin.
        moment.kind = kind;
        in_it.push_back(std::move(moment));
    }
}

}  // namespace

SeenInRegion seen_in_region(const std::vector<WindowFacts>& windows, const Paths& paths, std::uint32_t region) {
    SeenInRegion seen;
    for (const WindowFacts& window : windows_in(windows, paths, region)) {
        seen.native_ns += window.native_ns;
        seen.instructions += value_of(window.base, "instructions");
    }
    return seen;
}

ModelledRegions sum_up_regions(const RegionNames& names, const RegionEvidence& evidence, const ModelledCpu& cpu,
                               const LookedAt& looked_at) {
    ModelledRegions regions;
    regions.known = names.marked;
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < names.marked.list.size(); ++i) numbers.push_back(i);
    for (std::uint32_t i = 0; i < names.functions.size(); ++i) {
        numbers.push_back(trace::first_function_region + i);
        record::Region region;
        region.name = names.functions[i];
        region.kind = record::RegionKind::function;
        regions.known.list.push_back(std::move(region));
    }
    const Modelled shares = shares_of(evidence.windows, evidence.paths, numbers, cpu, looked_at);
    regions.known.outside_share = 1;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        record::Region& region = regions.known.list[i];
        auto in_it = windows_in(evidence.windows, evidence.paths, numbers[i]);
        region.cost = cost_of(numbers[i], in_it, shares, evidence);
        regions.known.outside_share -= region.cost->own_share;
        const bool met = region.cost->windows > 0;
        RegionSum& sum = regions.sums.emplace_back();
        if (region.cost->instructions >= fewest_instructions) {
            add_moments_of_entries(evidence, numbers[i], cpu, in_it);
            Modelled all;
            sum_up(in_it, true, cpu, all, looked_at);
            sum = {std::move(all.facts), std::move(all.variations)};
        } else {
            region.reason = evidence.windows.empty() ? "no window of the command was modelled"
                            : !met                   ? "no window of the model met it"
                                   : fmt::format("the windows of the model have {:.0f} instructions of it",
                                                 region.cost->instructions);
        }
        if (!met && !region.cost->entries_seen) region.cost.reset();
    }
    regions.known.outside_share = std::max(0.0, regions.known.outside_share);
    return regions;
}

}  // namespace tmaprobe::model
