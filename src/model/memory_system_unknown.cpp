#include "model/memory_system.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "model/core/descriptor.h"

namespace tmaprobe::model {
namespace {

using core::line_bytes;

/// From 0 to 1, the same for the same key.
double drawn_for(std::uint64_t key) {
    const std::uint64_t mixed = (key * golden_factor ^ (key * golden_factor) >> 29) * golden_factor;
    return static_cast<double>(mixed >> 11) * 0x1p-53;
}

}  // namespace

double MemorySystem::likely_held(std::uint64_t bytes, std::uint64_t met_bytes, bool code) const {
    if (resident_bytes_ <= bytes) return 1;
    const std::uint64_t met = std::max(met_bytes, geometry_.l1_data.size_bytes);
    if (met >= bytes) return 0;
    // How far back a line lies that was not met: of data as likely one order of magnitude as another; of code, which
    // comes back sooner, less likely than so many bytes by the root of these.
    const auto place = [&](std::uint64_t of) {
        return code ? -1 / std::sqrt(static_cast<double>(of)) : std::log(static_cast<double>(of));
    };
    return (place(bytes) - place(met)) / (place(resident_bytes_) - place(met));
}

double MemorySystem::as_varied(double likely) const {
    if (unknown_ == Unknown::likely || likely >= 1) return likely;
    constexpr double as_many_times = 8;
    const double odds = likely / (1 - likely) * (unknown_ == Unknown::held_more ? as_many_times : 1 / as_many_times);
    return odds / (1 + odds);
}

double MemorySystem::part_of_l3(double cycles_an_instruction) const {
    if (geometry_.l3.others_fill_ns <= 0 || met_areas_.lines_met() == 0) return 1;
    const double cycles = cycles_an_instruction * static_cast<double>(steps_);
    const double line_ns = cycles / static_cast<double>(met_areas_.lines_met()) * 1e9 / geometry_.frequency_hz;
    // Of n lines, a line apart, the last use is n line_ns ago: CacheGeometry::others_fill_ns, solved for n.
    const double lines = static_cast<double>(geometry_.l3.size_bytes) / line_bytes;
    const double x = lines * line_ns / geometry_.l3.others_fill_ns;
    return 2 / (1 + std::sqrt(1 + 4 * x));
}

bool MemorySystem::left_by_others(std::uint64_t line, std::uint64_t place) const {
    if (part_of_l3_ >= 1) return true;
    const auto since = l3_.used_since(place);
    // Ways are whole ones in a set, and a part of one in so many sets.
    return since && static_cast<double>(*since) + drawn_for(line) < part_of_l3_ * static_cast<double>(l3_.ways());
}

int MemorySystem::level_of_unknown(std::uint64_t line, bool code) {
    if (resident_bytes_ == 0) return 4;
    const std::uint64_t in_moment = (lines_from_memory_ - lines_before_moment_) * line_bytes;
    const double drawn = drawn_for(line);
    const double asked = met_areas_.questions_per_line(line);
    // The larger of two: met again as lines of a program's memory are, or as often as others of its area.
    const auto held = [&](std::uint64_t bytes) {
        double likely = likely_held(bytes, in_moment, code);
        if (asked > 0) {
            const double back = met_areas_.time_of(bytes / line_bytes) - 1;  // the moment so far is 1
            likely = std::max(likely, 1 - std::exp(-asked * std::max(0.0, back)));
        }
        return drawn < as_varied(likely);
    };
    if (held(geometry_.l2.size_bytes)) return 2;
    const double l3_bytes = part_of_l3_ * static_cast<double>(geometry_.l3.size_bytes);
    return held(static_cast<std::uint64_t>(l3_bytes)) ? 3 : 4;
}

bool MemorySystem::holds_unknown_page(int server, std::uint64_t key, std::uint64_t page_bytes) {
    if (server < 0 || resident_bytes_ == 0 || met_pages_.find(key)) return false;
    met_pages_.insert(key);
    ++pages_met_;
    count(MemoryFact::pages_unknown);
    const std::uint64_t reach = tlb_entries_[static_cast<std::size_t>(server)] * page_bytes;
    return drawn_for(key) < as_varied(likely_held(reach, pages_met_ * page_bytes, false));
}

bool MemorySystem::touches_first(std::uint64_t address, std::uint64_t entry_line) {
    if (!untouched_ || !untouched_(address)) return false;
    constexpr std::uint64_t page_bytes = 4096;
    const std::uint64_t page = address / page_bytes;
    if (touched_pages_.find(page)) return false;
    touched_pages_.insert(page);
    const std::uint64_t begin = page * page_bytes / line_bytes;
    for (std::uint64_t line = begin; line < begin + page_bytes / line_bytes; ++line) cleared(line);
    cleared(entry_line);
    return true;
}

void MemorySystem::cleared(std::uint64_t line) {
    const std::uint64_t place = in_frames(line);
    if (!l2_.find(place)) {
        if (geometry_.l3.victim && l3_.find(place)) l3_.erase(place);
        into_l2(line);
    }
    // What the first level evicts for it goes back in the kernel's time.
    if (!l1_data_.find(line)) l1_data_.insert(line);
    written(line);
}

}  // namespace tmaprobe::model
