#include "model/memory_system.h"

#include <algorithm>
#include <cstdlib>

#include "model/page_frames.h"

namespace tmaprobe::model {
namespace {

constexpr unsigned first_confident_hits = 2;  // accesses in a row before a stream prefetches

}  // namespace

void MemorySystem::train(std::uint64_t line, std::uint64_t cycle, bool missed) {
    if (!prefetching_) return;
    const auto ask = [&](std::uint64_t wanted, bool into_l1) {
        const bool same_page = wanted / lines_per_page == line / lines_per_page;
        if (!same_page && !geometry_.prefetchers.cross_pages) return;
        if (into_l1 ? l1_data_.find(wanted) : l2_.find(place_in_l2(wanted))) return;
        // A prefetch that finds no room is dropped.
        if (into_l1 && !has_slot(l1_outstanding_, geometry_.memory.outstanding_l1_misses, cycle)) return;
        if (!has_slot(l2_outstanding_, geometry_.memory.outstanding_l2_misses, cycle)) return;
        count(MemoryFact::lines_prefetched);
        const std::uint64_t start =
            same_page ? cycle : cycle + translate(wanted * core::line_bytes, cycle, false, false).cycles;
        if (into_l1)
            data(wanted, start, false);
        else
            below(wanted, start);
    };
    if (streams_.empty()) return;
    // One stream per page: lines that follow one another in one direction, and on into the next page where the
    // CPU does that.
    constexpr std::int64_t near = 2;
    const std::uint64_t page = line / lines_per_page;
    const auto continues = [&](const Stream& candidate) {
        if (candidate.last_line / lines_per_page == page) return true;
        return geometry_.prefetchers.cross_pages && candidate.hits >= first_confident_hits &&
               std::abs(static_cast<std::int64_t>(line - candidate.last_line)) <= near;
    };
    const auto known = std::find_if(streams_.rbegin(), streams_.rend(),
                                    [&](const Stream& candidate) { return candidate.used && continues(candidate); });
    Stream* stream = known == streams_.rend() ? nullptr : &*known;
    if (!stream) {
        stream = &*std::min_element(streams_.begin(), streams_.end(),
                                    [](const Stream& a, const Stream& b) { return a.used < b.used; });
        *stream = {line, ++use_clock_, 0, 0, line};
        return;
    }
    stream->used = ++use_clock_;
    const std::int64_t moved = static_cast<std::int64_t>(line - stream->last_line);
    if (moved == 0) return;
    const std::int64_t direction = moved > 0 ? 1 : -1;
    stream->hits = direction == stream->direction && std::abs(moved) <= near ? stream->hits + 1 : 0;
    stream->direction = direction;
    stream->last_line = line;
    if (stream->hits < first_confident_hits) return;
    if (geometry_.prefetchers.next_line && missed) ask(line + static_cast<std::uint64_t>(direction), true);
    const std::int64_t distance = static_cast<std::int64_t>(geometry_.prefetchers.distance_lines);
    const unsigned first = geometry_.prefetchers.l1_distance_lines;
    const std::int64_t into_l1 = first ? static_cast<std::int64_t>(first) : distance / 4;
    for (std::int64_t ahead = 1; ahead <= distance; ++ahead)
        ask(line + static_cast<std::uint64_t>(direction * ahead), ahead <= into_l1);
}

}  // namespace tmaprobe::model
