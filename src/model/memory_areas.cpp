#include "model/memory_areas.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tmaprobe::model {
namespace {

using process::MemoryMapping;
using record::DataKind;
using Span = std::pair<std::uint64_t, std::uint64_t>;

bool is_anonymous(const MemoryMapping& mapping) { return mapping.inode == 0 && mapping.path.empty(); }

/// What a loader leaves behind a file's data for what begins as zeros is memory of no file, right behind it.
const MemoryMapping* data_before(const std::vector<MemoryMapping>& mappings, const MemoryMapping& mapping) {
    if (&mapping == mappings.data() || !is_anonymous(mapping)) return nullptr;
    const MemoryMapping& before = *(&mapping - 1);
    return before.end == mapping.begin && before.inode && before.writable && !before.shared ? &before : nullptr;
}

/// Anonymous memory of all looks: what overlaps is one.
std::vector<Span> anonymous_spans(const std::vector<std::vector<MemoryMapping>>& mappings) {
    std::vector<Span> pieces, spans;
    for (const auto& of_process : mappings)
        for (const MemoryMapping& mapping : of_process)
            if (is_anonymous(mapping)) pieces.emplace_back(mapping.begin, mapping.end);
    std::ranges::sort(pieces);
    for (const Span& piece : pieces) {
        if (!spans.empty() && piece.first < spans.back().second)
            spans.back().second = std::max(spans.back().second, piece.second);
        else
            spans.push_back(piece);
    }
    return spans;
}

MemoryArea area_of(const std::vector<MemoryMapping>& mappings, const MemoryMapping& mapping,
                   const std::vector<Span>& anonymous) {
    if (const MemoryMapping* data = data_before(mappings, mapping)) return {DataKind::file, data->path, true, 0, 0};
    if (mapping.inode) return {DataKind::file, mapping.path, false, 0, 0};
    if (mapping.path == "[heap]") return {DataKind::heap, "", false, 0, 0};
    if (mapping.path == "[stack]") return {DataKind::stack, "", false, 0, 0};
    if (!mapping.path.empty()) return {DataKind::anonymous, mapping.path, false, 0, 0};
    const auto span = std::ranges::upper_bound(anonymous, mapping.begin, {}, &Span::first) - 1;
    return {DataKind::anonymous, "", false, span->first, span->second - span->first};
}

}  // namespace

MemoryAreas::MemoryAreas(const std::vector<std::vector<MemoryMapping>>& mappings) : mappings_(mappings) {
    const auto anonymous = anonymous_spans(mappings);
    std::map<std::tuple<DataKind, std::string, bool, std::uint64_t>, std::size_t> numbers;
    for (const auto& of_process : mappings) {
        auto& area_of_each = area_of_.emplace_back();
        for (const MemoryMapping& mapping : of_process) {
            MemoryArea area = area_of(of_process, mapping, anonymous);
            const auto [known, is_new] =
                numbers.try_emplace({area.kind, area.path, area.zeroed, area.address}, areas_.size());
            if (is_new) {
                if (!area.address) area.address = mapping.begin;
                areas_.push_back(std::move(area));
            }
            MemoryArea& all = areas_[known->second];
            all.bytes = std::max(all.bytes, mapping.end - mapping.begin);
            area_of_each.push_back(known->second);
        }
    }
}

std::optional<std::size_t> MemoryAreas::at(std::size_t mappings, std::uint64_t address) const {
    if (mappings >= mappings_.size()) return std::nullopt;
    const auto* mapping = process::mapping_at(mappings_[mappings], address);
    if (!mapping) return std::nullopt;
    return area_of_[mappings][static_cast<std::size_t>(mapping - mappings_[mappings].data())];
}

std::vector<Span> MemoryAreas::places(std::size_t area, std::size_t mappings) const {
    std::vector<Span> places;
    if (mappings >= mappings_.size()) return places;
    for (std::size_t i = 0; i < area_of_[mappings].size(); ++i)
        if (area_of_[mappings][i] == area)
            places.emplace_back(mappings_[mappings][i].begin, mappings_[mappings][i].end);
    return places;
}

}  // namespace tmaprobe::model
