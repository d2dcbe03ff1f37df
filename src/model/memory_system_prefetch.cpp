#include "model/memory_system.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "model/page_frames.h"

namespace tmaprobe::model {
namespace {

constexpr unsigned first_confident_hits = 2;  // accesses in a row before a stream prefetches

}  // namespace

bool MemorySystem::crosses_page(Stream& stream) {
    const PrefetcherGeometry& how = geometry_.prefetchers;
    const auto lines =
        std::max<std::int64_t>(1, std::abs(static_cast<std::int64_t>(stream.last_line - stream.decided_line)));
    const std::uint64_t held = held_lines_ - stream.decided_held;
    stream.decided_line = stream.last_line;
    stream.decided_held = held_lines_;
    if (!how.cross_pages || how.held_lines_to_stay <= 0) return how.cross_pages;
    stays_owed_ += std::min(1.0, static_cast<double>(held) / (how.held_lines_to_stay * static_cast<double>(lines)));
    if (stays_owed_ < 1) return true;
    stays_owed_ -= 1;
    return false;
}

void MemorySystem::train(std::uint64_t line, std::uint64_t cycle, int level) {
    if (!prefetching_ || streams_.empty()) return;
    // One stream per page: lines that follow one another in one direction, and on into the next page where the
    // CPU does that.
    constexpr std::int64_t near = 2;
    const std::uint64_t page = line / lines_per_page;
    const auto continues = [&](const Stream& candidate) {
        if (candidate.last_line / lines_per_page == page) return true;
        return candidate.crosses && candidate.hits >= first_confident_hits &&
               std::abs(static_cast<std::int64_t>(line - candidate.last_line)) <= near;
    };
    const auto known = std::find_if(streams_.rbegin(), streams_.rend(),
                                    [&](const Stream& candidate) { return candidate.used && continues(candidate); });
    if (known == streams_.rend()) {
        *std::min_element(streams_.begin(), streams_.end(), [](const Stream& a, const Stream& b) {
            return a.used < b.used;
        }) = {line, ++use_clock_, 0, 0, geometry_.prefetchers.cross_pages, ~page, line, held_lines_};
        held_lines_ += level == 2;
        return;
    }
    Stream& stream = *known;
    stream.used = ++use_clock_;
    const std::int64_t moved = static_cast<std::int64_t>(line - stream.last_line);
    if (moved == 0) return;
    const std::int64_t direction = moved > 0 ? 1 : -1;
    stream.hits = direction == stream.direction && std::abs(moved) <= near ? stream.hits + 1 : 0;
    stream.direction = direction;
    stream.last_line = line;
    if (stream.hits < first_confident_hits) {
        held_lines_ += level == 2;
        return;
    }
    go_ahead(stream, cycle, level != 1);
}

void MemorySystem::ask_around(std::uint64_t line, std::uint64_t instruction, std::uint64_t cycle, int level) {
    if (!prefetching_) return;
    const std::uint64_t first = regions_.first_of(line), page = line / lines_per_page;
    for (auto lines = regions_.note(line, instruction, level != 1); lines; lines &= lines - 1) {
        const std::uint64_t wanted = first + static_cast<std::uint64_t>(std::countr_zero(lines));
        if (wanted / lines_per_page == page) ask_ahead(wanted, line, cycle + geometry_.prefetchers.region_cycles, true);
    }
}

void MemorySystem::ask_ahead(std::uint64_t line, std::uint64_t asked_by, std::uint64_t cycle, bool first_level) {
    if (first_level ? l1_data_.find(line) : l2_.find(in_frames(line))) return;
    // A prefetch that finds no room is dropped.
    if (first_level && !has_slot(l1_outstanding_, geometry_.memory.outstanding_l1_misses, cycle)) return;
    if (!has_slot(l2_outstanding_, geometry_.memory.outstanding_l2_misses, cycle)) return;
    count(MemoryFact::lines_prefetched);
    const bool same_page = line / lines_per_page == asked_by / lines_per_page;
    const std::uint64_t start =
        same_page ? cycle : cycle + translate(line * core::line_bytes, cycle, false, false).cycles;
    if (first_level)
        data(line, start, false);
    else
        below(line, start);
}

void MemorySystem::go_ahead(Stream& stream, std::uint64_t cycle, bool missed) {
    const PrefetcherGeometry& how = geometry_.prefetchers;
    const std::uint64_t line = stream.last_line, page = line / lines_per_page;
    const auto line_ahead = [&](std::int64_t lines) {
        return line + static_cast<std::uint64_t>(stream.direction * lines);
    };
    const std::int64_t distance = static_cast<std::int64_t>(how.distance_lines);
    const std::int64_t into_l1 =
        how.l1_distance_lines ? static_cast<std::int64_t>(how.l1_distance_lines) : distance / 4;
    // What is in the second level before this stream asks for it was not brought by it.
    if (how.held_lines_to_stay > 0 && !l1_data_.find(line_ahead(into_l1)))
        held_lines_ += l2_.find(in_frames(line_ahead(distance)));
    if (line_ahead(distance) / lines_per_page != page && stream.decided_page != page) {
        stream.decided_page = page;
        stream.crosses = crosses_page(stream);
    }
    const auto ask = [&](std::uint64_t wanted, bool first_level) {
        if (wanted / lines_per_page == page || stream.crosses) ask_ahead(wanted, line, cycle, first_level);
    };
    if (how.next_line && missed) ask(line_ahead(1), true);
    for (std::int64_t ahead = 1; ahead <= distance; ++ahead) ask(line_ahead(ahead), ahead <= into_l1);
}

}  // namespace tmaprobe::model
