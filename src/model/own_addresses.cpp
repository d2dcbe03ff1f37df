#include "model/own_addresses.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace tmaprobe::model {
namespace {

/// No two mappings share a page of any size.
constexpr std::uint64_t alignment = 1u << 30;
constexpr std::uint64_t first_place = std::uint64_t{1} << 32;
/// Cores tell far targets of branches from near ones by about so many bits (`near_target_bits` of their data).
constexpr unsigned near_bits = 37;

bool has_huge_pages(const trace::PageMap& pages, std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t small = 4096, large = 2u << 20;
    for (std::uint64_t at = (begin + large - 1) / large * large; at + large <= end; at += large)
        if (pages.page_bytes(at) > small) return true;
    return false;
}

}  // namespace

OwnAddresses::OwnAddresses(const std::vector<Placement>& placements, std::uint64_t code_shift)
    : code_shift_(code_shift) {
    for (const Placement& placement : placements) {
        met_.push_back(areas_.size());
        areas_.push_back({placement.begin, placement.end, placement.place, false});
    }
}

OwnAddresses::OwnAddresses(const std::string& maps, const trace::PageMap& pages) {
    std::istringstream lines(maps);
    for (std::string line; std::getline(lines, line);) {
        unsigned long long begin = 0, end = 0;
        if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2)
            areas_.push_back({begin, end, 0, has_huge_pages(pages, begin, end)});
    }
    std::sort(areas_.begin(), areas_.end(), [](const Area& one, const Area& other) { return one.begin < other.begin; });
}

std::uint64_t OwnAddresses::own(std::uint64_t address) {
    if (areas_.empty() || address == 0) return address;
    if (address < areas_[last_].begin || address >= areas_[last_].end) {
        const auto after = std::upper_bound(areas_.begin(), areas_.end(), address,
                                            [](std::uint64_t value, const Area& area) { return value < area.begin; });
        if (after == areas_.begin() || address >= (after - 1)->end) return address;
        last_ = static_cast<std::size_t>(after - areas_.begin()) - 1;
    }
    Area& area = areas_[last_];
    if (area.place == 0) {
        Neighbourhood& near = neighbourhood_of(area.begin);
        // Huge pages lie in their mapping as they did.
        area.place = near.next_place + (area.huge_pages ? area.begin % alignment : 0);
        near.next_place = (area.place + (area.end - area.begin) + alignment) / alignment * alignment;
        const auto after =
            std::ranges::upper_bound(met_, area.place, {}, [&](std::size_t met) { return areas_[met].place; });
        met_.insert(after, last_);
    }
    return area.place + (address - area.begin);
}

OwnAddresses::Neighbourhood& OwnAddresses::neighbourhood_of(std::uint64_t address) {
    const std::uint64_t upper_bits = address >> near_bits;
    const auto known = std::ranges::find(neighbourhoods_, upper_bits, &Neighbourhood::upper_bits);
    if (known != neighbourhoods_.end()) return *known;
    return neighbourhoods_.emplace_back(Neighbourhood{upper_bits, (neighbourhoods_.size() << near_bits) + first_place});
}

std::uint64_t OwnAddresses::own_if_met(std::uint64_t address) const {
    const auto after = std::upper_bound(areas_.begin(), areas_.end(), address,
                                        [](std::uint64_t value, const Area& area) { return value < area.begin; });
    if (after == areas_.begin()) return 0;
    const Area& area = *(after - 1);
    return address < area.end && area.place ? area.place + (address - area.begin) : 0;
}

std::uint64_t OwnAddresses::real(std::uint64_t own_address) const {
    const auto after =
        std::upper_bound(met_.begin(), met_.end(), own_address,
                         [&](std::uint64_t value, std::size_t area) { return value < areas_[area].place; });
    if (after == met_.begin()) return own_address;
    const Area& area = areas_[*(after - 1)];
    return own_address - area.place < area.end - area.begin ? area.begin + (own_address - area.place) : own_address;
}

trace::StaticInstruction OwnAddresses::own(trace::StaticInstruction instruction) {
    instruction.address = own(instruction.address) + code_shift_;
    if (instruction.target) instruction.target = own(instruction.target) + code_shift_;
    return instruction;
}

trace::Step OwnAddresses::own(trace::Step step) {
    step.load = own(step.load);
    step.store = own(step.store);
    return step;
}

}  // namespace tmaprobe::model
