#include <algorithm>
#include <cmath>
#include <utility>

#include "model/core/descriptor.h"
#include "model/memory_system.h"
#include "model/page_frames.h"

// Translations: buffers of two levels, and page walks.

namespace tmaprobe::model {
namespace {

using core::line_bytes;
constexpr std::uint64_t small_page = 4096, large_page = 2u << 20, huge_page = 1u << 30;
constexpr std::uint64_t page_entry_bytes = 8;

/// Page tables lie where no traced address does: above the 48 bits that programs have, one area for each page
/// size, and within 49 bits, which is what the third level's tags have room for.
constexpr std::uint64_t page_table_area = std::uint64_t{1} << 48;
constexpr int area_per_size_bits = 40, upper_area_bits = 43;

std::size_t size_index(std::uint64_t page_bytes) {
    return page_bytes >= huge_page ? 2 : page_bytes >= large_page ? 1 : 0;
}

/// Walks, hits and cycles of loads, stores and instruction fetches stand in the same order.
MemoryFact of_kind(MemoryFact of_loads, bool store, bool code) {
    constexpr auto distance = [](MemoryFact from, MemoryFact to) {
        return static_cast<std::size_t>(to) - static_cast<std::size_t>(from);
    };
    constexpr std::size_t to_stores = distance(MemoryFact::load_stlb_hits, MemoryFact::store_stlb_hits);
    constexpr std::size_t to_code = distance(MemoryFact::load_stlb_hits, MemoryFact::itlb_l2_hits);
    return further(of_loads, code ? to_code : store ? to_stores : 0);
}

}  // namespace

void MemorySystem::serve(std::size_t tlb, const TlbGeometry& geometry) {
    if (geometry.level < 1 || geometry.level > 2) return;
    for (const std::uint64_t page_bytes : geometry.page_bytes) {
        const auto claim = [&](Serving& serving) {
            int& server = serving[static_cast<std::size_t>(geometry.level) - 1][size_index(page_bytes)];
            if (server < 0) server = static_cast<int>(tlb);
        };
        if (geometry.holds_data()) claim(serving_data_);
        if (geometry.holds_code()) claim(serving_code_);
    }
}

std::uint64_t MemorySystem::in_frames(std::uint64_t line) const {
    const std::uint64_t address = line * line_bytes;
    const bool in_small_page = address >= page_table_area || held_bytes(page_sizes_(address)) == small_page;
    return line_in_frames(line, frames_by_chance_ && in_small_page);
}

std::uint64_t MemorySystem::held_bytes(std::uint64_t mapped_bytes) const {
    return geometry_.translation.large_page_walk > 0 ? small_page : mapped_bytes;
}

SetAssociative* MemorySystem::buffer(int level, bool code, std::size_t size) {
    const int server = (code ? serving_code_ : serving_data_)[static_cast<std::size_t>(level) - 1][size];
    return server < 0 ? nullptr : &tlbs_[static_cast<std::size_t>(server)];
}

std::uint64_t MemorySystem::entry_line_of(std::uint64_t page, std::uint64_t page_bytes) {
    return (page_table_area + (size_index(page_bytes) << area_per_size_bits) + page * page_entry_bytes) / line_bytes;
}

std::uint64_t MemorySystem::walk(std::uint64_t page, std::uint64_t page_bytes, bool is_split, std::uint64_t cycle) {
    const std::uint64_t start = wait_for_slot(walks_outstanding_, geometry_.translation.walkers, cycle);
    // The last level's entry is read from memory like any data; levels above it only when the walker does
    // not remember the directory that they lead to.
    const std::uint64_t entry_line = entry_line_of(page, page_bytes);
    const std::uint64_t entries_per_table = small_page / page_entry_bytes;
    const std::uint64_t directory = (page / entries_per_table) ^ page_bytes;
    std::uint64_t done = start + geometry_.translation.walk_step_cycles;
    if (!directories_.find(directory)) {
        directories_.insert(directory);
        const std::uint64_t upper_line =
            (page_table_area + (std::uint64_t{1} << upper_area_bits) + page / entries_per_table * page_entry_bytes) /
            line_bytes;
        done = below(upper_line, done).ready_at + geometry_.translation.walk_step_cycles;
    }
    if (geometry_.translation.walk_starts_at_level > 1) {
        done = below(entry_line, done).ready_at;
    } else if (l1_data_.find(entry_line)) {
        done = std::max(arrival(entry_line, done).ready_at, done) + geometry_.l1_data.latency;
    } else {
        done = below(entry_line, done).ready_at;
        into_l1(entry_line, done);
    }
    // Where the host alone has small pages, the walk leaves a level of the guest's tables out.
    if (is_split)
        done = start + static_cast<std::uint64_t>(
                           std::lround(static_cast<double>(done - start) * geometry_.translation.large_page_walk));
    if (timed_) walks_outstanding_.add(start, done);
    return done;
}

MemorySystem::Translation MemorySystem::translate(std::uint64_t address, std::uint64_t cycle, bool store, bool code) {
    if (ideal_.translations) return {};
    const std::uint64_t mapped_bytes = page_sizes_(address), page_bytes = held_bytes(mapped_bytes);
    const std::uint64_t page = address / page_bytes;
    const std::size_t size = size_index(page_bytes);
    SetAssociative* first = buffer(1, code, size);
    SetAssociative* second = buffer(2, code, size);
    const std::uint64_t key = page * page_sizes + size;
    if (first && first->find(key)) return {waits_for_translation(key, code, cycle), false};
    const std::uint64_t asked = timed_ ? second_buffers_.after(cycle) : cycle;
    const std::uint64_t looked_up = asked + geometry_.translation.l2_hit_cycles;
    if (!code) count(MemoryFact::dtlb_misses);
    const bool is_known = second && second->find(key);
    const bool is_first = !code && !is_known && touches_first(address, entry_line_of(page, page_bytes));
    if (is_known ||
        (!is_first && holds_unknown_page((code ? serving_code_ : serving_data_)[1][size], key, page_bytes))) {
        if (!code) count(further(MemoryFact::dtlb_l2_hits_4k, size));
        count(of_kind(MemoryFact::load_stlb_hits, store, code));
        if (!is_known) second->insert(key);
        if (first) first->insert(key);
        return translated(key, code, cycle, looked_up);
    }
    const std::uint64_t done = walk(page, page_bytes, page_bytes != mapped_bytes, looked_up);
    count(of_kind(MemoryFact::load_walks, store, code));
    count(further(of_kind(MemoryFact::load_walks_4k, store, code), size));
    count(of_kind(MemoryFact::load_walk_cycles, store, code), done - cycle);
    if (!code) {
        count(MemoryFact::walks);
        count(further(MemoryFact::walks_4k, size));
    }
    if (second) second->insert(key);
    if (first) first->insert(key);
    return translated(key, code, cycle, done);
}

MemorySystem::Translation MemorySystem::translated(std::uint64_t key, bool code, std::uint64_t cycle,
                                                   std::uint64_t done) {
    if (timed_) {
        translating_[next_translating_++ % translating_.size()] = {{cycle, done}, key, code};
        all_translated_ = std::max(all_translated_, done);
    }
    return {static_cast<unsigned>(done - cycle), true};
}

unsigned MemorySystem::waits_for_translation(std::uint64_t key, bool code, std::uint64_t cycle) const {
    if (!timed_ || cycle >= all_translated_) return 0;
    for (const Translating& one : translating_) {
        if (one.key != key || one.code != code || cycle >= one.time.end) continue;
        return static_cast<unsigned>(one.time.end - std::max(cycle, one.time.begin));
    }
    return 0;
}

}  // namespace tmaprobe::model
