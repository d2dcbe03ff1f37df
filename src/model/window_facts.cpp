#include "model/window_facts.h"

#include <algorithm>

namespace tmaprobe::model {

void add(Facts& sum, const Facts& more, double weight) {
    for (const auto& [name, value] : more) sum[name] += weight * value;
}

namespace {

void merge_regions(std::vector<RegionFacts>& sum, const std::vector<RegionFacts>& more) {
    for (const RegionFacts& one : more) {
        auto same = std::ranges::find(sum, one.path, &RegionFacts::path);
        if (same == sum.end()) same = sum.insert(sum.end(), {one.path, {}});
        add(same->facts, one.facts, 1);
    }
}

/// Facts, changed as much, by their cycles, as others were in a variation.
Facts changed_alike(const Facts& facts, const Facts& others, const Facts& varied) {
    if (cycles_of(others) <= 0) return facts;
    const double times = cycles_of(facts) / cycles_of(others);
    Facts changed = facts;
    add(changed, varied, times);
    add(changed, others, -times);
    // Where the others had much of what these have little of, they tell nothing of these.
    return std::ranges::all_of(changed, [](const auto& fact) { return fact.second >= 0; }) ? changed : facts;
}

}  // namespace

FactVariation vary_alike(const WindowFacts& windows, const WindowFacts& others, const FactVariation& varied) {
    FactVariation alike{varied.what, changed_alike(windows.base, others.base, varied.facts), {}, {}, windows.regions};
    const auto of_path = [](const std::vector<RegionFacts>& regions, std::uint32_t path) {
        const auto found = std::ranges::find(regions, path, &RegionFacts::path);
        return found == regions.end() ? nullptr : &found->facts;
    };
    for (RegionFacts& region : alike.regions) {
        const Facts *base = of_path(others.regions, region.path), *facts = of_path(varied.regions, region.path);
        if (base && facts) region.facts = changed_alike(region.facts, *base, *facts);
    }
    return alike;
}

bool is_nothing(const WindowFacts& facts) { return facts.base.empty() && facts.beside.empty(); }

void merge(WindowFacts& sum, const WindowFacts& more) {
    sum.beside.insert(sum.beside.end(), more.beside.begin(), more.beside.end());
    if (more.base.empty()) return;
    if (sum.base.empty()) {
        // The first of them; what is known of the moment itself stays.
        WindowFacts first = more;
        first.beside = std::move(sum.beside);
        first.at_ns = sum.at_ns;
        first.at_look = sum.at_look;
        first.native_ns = sum.native_ns;
        first.stack = std::move(sum.stack);
        first.process = sum.process;
        first.mappings = std::move(sum.mappings);
        sum = std::move(first);
        return;
    }
    if (sum.parts.empty()) sum.parts.push_back(sum.base);
    sum.logged.insert(sum.logged.end(), more.logged.begin(), more.logged.end());
    sum.parts.push_back(more.base);
    const auto find = [](const auto& variations, record::Variation what) {
        return std::find_if(variations.begin(), variations.end(), [&](const auto& one) { return one.what == what; });
    };
    // What was varied and cannot tell a variation apart is the same in it.
    const auto without = [&](const WindowFacts& windows, const WindowFacts& others, const FactVariation& varied) {
        return windows.varied ? FactVariation{varied.what, windows.base, {}, {}, windows.regions}
                              : vary_alike(windows, others, varied);
    };
    for (const auto& variation : more.variations)
        if (find(sum.variations, variation.what) == sum.variations.end())
            sum.variations.push_back(without(sum, more, variation));
    for (auto& variation : sum.variations) {
        const auto found = find(more.variations, variation.what);
        const FactVariation of_more = found == more.variations.end() ? without(more, sum, variation) : *found;
        add(variation.facts, of_more.facts, 1);
        merge_regions(variation.regions, of_more.regions);
    }
    sum.varied |= more.varied;
    merge_regions(sum.regions, more.regions);
    add(sum.base, more.base, 1);
    for (const auto& [address, time] : more.time_by_address) sum.time_by_address[address] += time;
}

double value_of(const Facts& facts, std::string_view name) {
    const auto found = facts.find(name);
    return found == facts.end() ? 0 : found->second;
}

double cycles_of(const Facts& facts) { return value_of(facts, "cycles"); }

}  // namespace tmaprobe::model
