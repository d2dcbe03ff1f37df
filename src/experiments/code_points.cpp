#include "experiments/code_points.h"

#include <algorithm>

#include "base/log.h"
#include "symbols/perf_map.h"

namespace tmaprobe::experiments {
namespace {

/// Not yet located.
CodePoint point_at(const process::CodeMapping* mapping, pid_t process, std::uint64_t address) {
    if (!mapping || (mapping->inode == 0 && mapping->path != symbols::vdso_module)) return {{}, address, process, {}};
    return {
        mapping->path, address - mapping->begin + (mapping->path == symbols::vdso_module ? 0 : mapping->offset), 0, {}};
}

}  // namespace

std::size_t CodePoints::number(const counters::SlotAttribution& attribution, const counters::AttributedWindow& window,
                               std::uint64_t address) {
    return number(attribution.mappings[window.mappings], window.process, address);
}

std::size_t CodePoints::number(const std::vector<process::CodeMapping>& code, pid_t process, std::uint64_t address) {
    const auto* mapping = process::mapping_at(code, address);
    CodePoint point = point_at(mapping, process, address);
    if (!point.module.empty()) replaced_[mapping->path] |= mapping->deleted;
    const auto [known, is_new] = numbers_.try_emplace({point.module, point.process, point.offset}, points_.size());
    if (is_new) points_.push_back(std::move(point));
    return known->second;
}

std::optional<std::size_t> CodePoints::find(const counters::SlotAttribution& attribution,
                                            const counters::AttributedWindow& window, std::uint64_t address) const {
    const CodePoint point =
        point_at(process::mapping_at(attribution.mappings[window.mappings], address), window.process, address);
    const auto known = numbers_.find({point.module, point.process, point.offset});
    return known == numbers_.end() ? std::nullopt : std::optional(known->second);
}

void CodePoints::locate(std::vector<record::Warning>& warnings) {
    std::map<std::string, std::vector<std::size_t>> of_module;
    for (std::size_t i = 0; i < points_.size(); ++i)
        if (!points_[i].module.empty()) of_module[points_[i].module].push_back(i);
    for (const auto& [module, points] : of_module) {
        if (replaced_[module]) {
            warnings.push_back({"where_module_replaced",
                                module + " was taken away or replaced while it ran: what it calls its instructions is "
                                         "not known",
                                "run the program as it is now again"});
            for (const std::size_t i : points) points_[i].located.address = points_[i].offset;
            continue;
        }
        std::vector<std::uint64_t> offsets;
        for (const std::size_t i : points) offsets.push_back(points_[i].offset);
        const log::Step step("reading the symbols of " + module);
        auto located =
            module == symbols::vdso_module ? symbols::locate_in_vdso(offsets) : symbols::locate(module, offsets);
        if (!located || located->size() != points.size()) {
            warnings.push_back({"where_no_symbols",
                                located ? "the symbols of " + module + " cannot be read" : located.error().what,
                                "its instructions are shown by address"});
            for (const std::size_t i : points) points_[i].located.address = points_[i].offset;
            continue;
        }
        for (std::size_t i = 0; i < points.size(); ++i) points_[points[i]].located = std::move((*located)[i]);
    }
    locate_made_code();
}

/// Code that a compiler made while the program ran: the map that it wrote for perf.
void CodePoints::locate_made_code() {
    std::map<pid_t, symbols::PerfMap> maps;
    for (CodePoint& point : points_) {
        if (!point.module.empty()) continue;
        point.located.address = point.offset;
        auto known = maps.find(point.process);
        if (known == maps.end()) known = maps.emplace(point.process, symbols::PerfMap::of_process(point.process)).first;
        const auto* function = known->second.find(point.offset);
        if (!function) continue;
        point.located.frames = {{function->name, {}, 0}};
        point.located.begins = function->begin;
    }
}

}  // namespace tmaprobe::experiments
