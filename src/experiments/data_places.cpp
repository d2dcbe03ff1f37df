#include "experiments/data_places.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "base/log.h"
#include "experiments/allocated_blocks.h"
#include "experiments/shares.h"
#include "symbols/locations.h"

namespace tmaprobe::experiments {
namespace {

using counters::AccessSlots;
using counters::AttributedWindow;
using process::MemoryMapping;
using record::DataKind;
using record::DataPlace;

/// Memory of no file, of one process, in all windows together: it may have grown meanwhile.
struct Area {
    pid_t process = 0;
    std::uint64_t begin = 0, end = 0;
};

bool is_of_file(const MemoryMapping& mapping) { return mapping.inode != 0; }

/// What a loader leaves behind a file's data for what begins as zeros is memory of no file, right behind it.
const MemoryMapping* file_of_zeros(const std::vector<MemoryMapping>& mappings, const MemoryMapping& mapping) {
    if (&mapping == mappings.data() || is_of_file(mapping) || !mapping.path.empty()) return nullptr;
    const MemoryMapping& before = *(&mapping - 1);
    return before.end == mapping.begin && is_of_file(before) && before.writable && !before.shared ? &before : nullptr;
}

/// Where the first page of a mapped file lies.
std::optional<std::uint64_t> load_address(const std::vector<MemoryMapping>& mappings, const MemoryMapping& mapping) {
    for (const MemoryMapping* one = &mapping;; --one) {
        if (one->path == mapping.path && one->offset == 0) return one->begin;
        if (one == mappings.data()) return std::nullopt;
    }
}

/// Something in the memory of a process before it has a name.
struct DataPoint {
    DataKind kind = DataKind::unknown;
    std::string path;
    std::uint64_t relative = 0;  ///< of what may be a variable: to the first page of its file
    bool may_be_variable = false;
    std::uint64_t begin = 0, bytes = 0;
};

/// All that tells places apart.
using Key = std::tuple<DataKind, std::string, std::string, std::uint64_t, std::vector<record::AllocatingFunction>>;

class DataPlaces {
  public:
    DataPlaces(const counters::SlotAttribution& attribution, const CodePoints& points)
        : attribution_(attribution), points_(points), allocating_(attribution, points) {
        find_areas();
    }

    void add(const std::set<record::Variation>& variations, std::vector<record::Warning>& warnings,
             record::Where& where) {
        note_variables();
        locate_variables(warnings);
        std::vector<PlacedSlots> windows;
        for (const AttributedWindow& window : attribution_.windows) {
            window.accesses.for_each([&](const AccessSlots::Access& access) { sum_up(window, access); });
            windows.push_back(placed(window, window.slots, window.accesses));
            count_blocks(window);
        }
        std::vector<std::vector<PlacedSlots>> varied;
        for (const record::Variation what : variations) {
            auto& one = varied.emplace_back(windows);
            for (std::size_t i = 0; i < windows.size(); ++i)
                // A window that cannot tell the variations apart is the same in each.
                if (const auto* own = varied_slots(attribution_.windows[i], what))
                    one[i] = placed(attribution_.windows[i], own->slots, own->accesses);
        }
        const Shares shares = shares_of(places_.size(), windows, varied, attribution_.windows_differ);
        const double all = record::sum_of(where.slots);
        WeightedSlots sum{};
        for (std::size_t i = 0; i < places_.size(); ++i) {
            Sum& one = sums_[i];
            if (total(one.slots) <= 0) continue;  // only a variation met it
            experiments::add(sum, one.slots);
            DataPlace& place = places_[i];
            place.slots = by_name(one.slots);
            place.share = shares.base[i];
            place.low = shares.low[i];
            place.high = shares.high[i];
            place.small_page_walks = all > 0 ? one.small_page_walks / all : 0;
            name_code(one, place);
            where.data.push_back(std::move(place));
        }
        where.data_slots = by_name(sum);
        where.blocks_told_apart = !attribution_.allocating_calls.empty();
        std::ranges::stable_sort(where.data, [](const auto& a, const auto& b) { return a.share > b.share; });
    }

  private:
    struct Sum {
        WeightedSlots slots{};
        double small_page_walks = 0;
        std::map<std::size_t, double> by_code;  ///< by number of the instruction
    };

    void find_areas() {
        std::vector<Area> pieces;
        for (const AttributedWindow& window : attribution_.windows)
            for (const MemoryMapping& mapping : window.memory)
                if (!is_of_file(mapping) && mapping.path.empty())
                    pieces.push_back({window.process, mapping.begin, mapping.end});
        std::ranges::sort(pieces, {}, [](const Area& one) { return std::tie(one.process, one.begin); });
        for (const Area& piece : pieces) {
            if (!areas_.empty() && areas_.back().process == piece.process && piece.begin < areas_.back().end)
                areas_.back().end = std::max(areas_.back().end, piece.end);
            else
                areas_.push_back(piece);
        }
    }

    const Area* area_of(pid_t process, std::uint64_t address) const {
        const auto after = std::ranges::upper_bound(areas_, std::pair(process, address), {},
                                                    [](const Area& one) { return std::pair(one.process, one.begin); });
        if (after == areas_.begin()) return nullptr;
        const Area& area = *(after - 1);
        return area.process == process && address < area.end ? &area : nullptr;
    }

    DataPoint point_of(const AttributedWindow& window, const AccessSlots::Access& access) const {
        const std::uint64_t data = access.data;
        const auto* mapping = data ? process::mapping_at(window.memory, data) : nullptr;
        if (!mapping) return {};
        const MemoryMapping* file = is_of_file(*mapping) ? mapping : file_of_zeros(window.memory, *mapping);
        if (file) {
            DataPoint point{DataKind::file, file->path, 0, false, 0, 0};
            const auto loaded = load_address(window.memory, *file);
            // What was replaced has other variables by now.
            point.may_be_variable = loaded && !file->deleted && !file->shared;
            if (loaded) point.relative = data - *loaded;
            return point;
        }
        if (access.allocation) return {DataKind::blocks, "", 0, false, 0, 0};
        if (mapping->path == "[heap]") return {DataKind::heap, "", 0, false, 0, mapping->end - mapping->begin};
        if (mapping->path == "[stack]") return {DataKind::stack, "", 0, false, 0, mapping->end - mapping->begin};
        if (const Area* area = area_of(window.process, data))
            return {DataKind::anonymous, "", 0, false, area->begin, area->end - area->begin};
        return {DataKind::anonymous, mapping->path, 0, false, mapping->begin, mapping->end - mapping->begin};
    }

    template <class Visit>
    void for_each_access(Visit&& visit) const {
        for (const AttributedWindow& window : attribution_.windows) {
            const auto visit_one = [&](const AccessSlots::Access& access) { visit(window, access); };
            window.accesses.for_each(visit_one);
            for (const auto& varied : window.variations) varied.accesses.for_each(visit_one);
        }
    }

    void note_variables() {
        for_each_access([&](const AttributedWindow& window, const AccessSlots::Access& access) {
            const DataPoint point = point_of(window, access);
            if (point.may_be_variable) variables_[point.path][point.relative];
        });
    }

    void locate_variables(std::vector<record::Warning>& warnings) {
        for (auto& [path, of_address] : variables_) {
            std::vector<std::uint64_t> addresses;
            for (const auto& [address, variable] : of_address) addresses.push_back(address);
            const log::Step step("reading the variables of " + path);
            auto found = symbols::variables(path, addresses);
            if (!found || found->size() != addresses.size()) {
                // A file of data has none; a program's symbols that cannot be read were said to be so before.
                if (found)
                    warnings.push_back({"where_no_variables", "the variables of " + path + " cannot be read", ""});
                continue;
            }
            std::size_t i = 0;
            for (auto& [address, variable] : of_address) variable = std::move((*found)[i++]);
        }
    }

    std::size_t place_of(const AttributedWindow& window, const AccessSlots::Access& access) {
        const DataPoint point = point_of(window, access);
        const symbols::Variable* variable = nullptr;
        if (point.may_be_variable) variable = &variables_[point.path][point.relative];
        DataPlace place;
        place.kind = point.kind;
        place.path = point.path;
        place.address = point.begin;
        place.bytes = point.bytes;
        if (variable && !variable->name.empty()) {
            place.kind = DataKind::variable;
            place.name = variable->name;
            place.file = variable->file;
            place.line = variable->line;
            place.address = variable->begin;
            place.bytes = variable->bytes;
        }
        if (place.kind == DataKind::blocks) place.allocated_by = allocating_.of(window, access.allocation);
        const auto [known, is_new] = numbers_.try_emplace(
            Key{place.kind, place.name, place.path, place.address, place.allocated_by}, places_.size());
        if (is_new) {
            places_.push_back(std::move(place));
            sums_.emplace_back();
        } else {
            places_[known->second].bytes = std::max(places_[known->second].bytes, place.bytes);
        }
        return known->second;
    }

    void sum_up(const AttributedWindow& window, const AccessSlots::Access& access) {
        Sum& sum = sums_[place_of(window, access)];
        experiments::add(sum.slots, access.slots, window.weight);
        double slots = 0;
        for (const std::uint64_t count : access.slots) slots += window.weight * static_cast<double>(count);
        if (!access.in_huge_page)
            sum.small_page_walks +=
                window.weight *
                static_cast<double>(access.slots[static_cast<std::size_t>(record::SlotCause::translation)]);
        if (const auto code = points_.find(attribution_, window, access.instruction)) sum.by_code[*code] += slots;
    }

    PlacedSlots placed(const AttributedWindow& window, const counters::InstructionSlots& all,
                       const AccessSlots& accesses) {
        PlacedSlots placed;
        const auto weighted = [&](const counters::SlotsByCause& slots) {
            double sum = 0;
            for (const std::uint64_t count : slots) sum += window.weight * static_cast<double>(count);
            return sum;
        };
        accesses.for_each([&](const AccessSlots::Access& access) {
            placed.of_places.emplace_back(place_of(window, access), weighted(access.slots));
        });
        all.for_each([&](std::uint64_t, const counters::SlotsByCause& slots) { placed.all += weighted(slots); });
        return placed;
    }

    /// How many blocks there are of each place, and how large all of them are: as in the window that found most.
    void count_blocks(const AttributedWindow& window) {
        std::map<std::size_t, counters::AllocatedBlocks> here;
        for (const auto& met : window.blocks) {
            const Key key{DataKind::blocks, "", "", 0, allocating_.of(window, met.allocation)};
            const auto place = numbers_.find(key);
            if (place == numbers_.end()) continue;
            here[place->second].blocks += met.blocks;
            here[place->second].bytes += met.bytes;
        }
        for (const auto& [place, sum] : here)
            if (sum.bytes >= places_[place].bytes) {
                places_[place].blocks = sum.blocks;
                places_[place].bytes = sum.bytes;
            }
    }

    /// The line that most slots are put down to, of all instructions of that line.
    void name_code(const Sum& sum, DataPlace& place) const {
        std::map<std::tuple<std::string, std::string, unsigned>, double> lines;
        for (const auto& [number, slots] : sum.by_code) {
            const auto& frames = points_[number].located.frames;
            if (!frames.empty()) lines[{frames[0].function, frames[0].file, frames[0].line}] += slots;
        }
        const auto most = std::ranges::max_element(lines, {}, [](const auto& one) { return one.second; });
        if (most == lines.end()) return;
        std::tie(place.function, place.code_file, place.code_line) = most->first;
    }

    const counters::SlotAttribution& attribution_;
    const CodePoints& points_;
    AllocatingFunctions allocating_;
    std::vector<Area> areas_;  ///< by process and address
    std::map<std::string, std::map<std::uint64_t, symbols::Variable>> variables_;
    std::map<Key, std::size_t> numbers_;
    std::vector<DataPlace> places_;
    std::vector<Sum> sums_;
};

}  // namespace

void add_data_places(const counters::SlotAttribution& attribution, const CodePoints& points,
                     const std::set<record::Variation>& variations, std::vector<record::Warning>& warnings,
                     record::Where& where) {
    DataPlaces(attribution, points).add(variations, warnings, where);
}

}  // namespace tmaprobe::experiments
