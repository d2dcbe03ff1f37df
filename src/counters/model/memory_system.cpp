#include "counters/model/memory_system.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::counters::model {
namespace {

constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t small_page = 4096, large_page = 2u << 20, huge_page = 1u << 30;
constexpr std::uint64_t page_entry_bytes = 8;
constexpr unsigned first_confident_hits = 2;  // accesses in a row before a stream prefetches

/// Page tables lie where no traced address does.
constexpr std::uint64_t page_table_area = std::uint64_t{1} << 60;

const char* size_name(std::uint64_t page_bytes) {
    return page_bytes >= huge_page ? "1g" : page_bytes >= large_page ? "2m" : "4k";
}

constexpr const char* fact_names[] = {
    "l1d_fills", "l1d_fills_l2", "l1d_fills_l3", "l1d_fills_memory", "l1d_demand_fills", "l1d_demand_fills_l2",
    "l1d_demand_fills_l3", "l1d_demand_fills_memory", "l2_hits", "l2_misses", "l2_code_hits", "l2_code_misses", "l3_hits",
    "l3_misses", "loads_l1_hit", "loads_l1_miss", "loads_l2_hit", "loads_l2_miss", "loads_l3_hit", "loads_l3_miss",
    "loads_in_flight_hit", "dtlb_misses", "dtlb_l2_hits_4k", "dtlb_l2_hits_2m", "dtlb_l2_hits_1g", "walks", "walks_4k",
    "walks_2m", "walks_1g", "load_stlb_hits", "load_walks", "load_walks_4k", "load_walks_2m", "load_walks_1g",
    "load_walk_cycles", "store_stlb_hits", "store_walks", "store_walks_4k", "store_walks_2m", "store_walks_1g",
    "store_walk_cycles", "itlb_l2_hits", "itlb_walks", "itlb_walks_4k", "itlb_walks_2m", "itlb_walks_1g",
    "itlb_walk_cycles", "lines_from_memory", "lines_prefetched"};

}  // namespace

SetAssociative::SetAssociative(std::uint64_t entries, int ways) {
    if (entries == 0) return;
    ways_ = ways <= 0 ? entries : std::min<std::uint64_t>(static_cast<std::uint64_t>(ways), entries);
    sets_ = std::max<std::uint64_t>(1, entries / ways_);
    slots_.resize(sets_ * ways_);
}

SetAssociative::Slot* SetAssociative::set_of(std::uint64_t key) {
    return &slots_[(key % sets_) * ways_];
}

std::uint64_t* SetAssociative::find(std::uint64_t key) {
    if (slots_.empty()) return nullptr;
    Slot* set = set_of(key);
    for (std::size_t i = 0; i < ways_; ++i) {
        if (set[i].key != key) continue;
        set[i].used = ++clock_;
        return &set[i].ready_at;
    }
    return nullptr;
}

void SetAssociative::insert(std::uint64_t key, std::uint64_t ready_at) {
    if (slots_.empty()) return;
    Slot* set = set_of(key);
    Slot* oldest = std::min_element(set, set + ways_, [](const Slot& a, const Slot& b) { return a.used < b.used; });
    *oldest = {key, ready_at, ++clock_};
}

void SetAssociative::settle() {
    for (Slot& slot : slots_) slot.ready_at = 0;
}

MemorySystem::MemorySystem(const Geometry& geometry, PageSizes page_sizes, const MemoryVariation& variation)
    : geometry_(geometry), page_sizes_(std::move(page_sizes)), prefetching_(variation.prefetch),
      memory_cycles_(static_cast<std::uint64_t>(
          std::lround((variation.latency_ns > 0 ? variation.latency_ns : geometry.memory.latency_ns) * 1e-9 * geometry.frequency_hz))),
      line_cycles_(line_bytes * geometry.frequency_hz / geometry.memory.bandwidth_bytes_per_second),
      l1_data_(geometry.l1_data.size_bytes / line_bytes, static_cast<int>(geometry.l1_data.ways)),
      l1_code_(geometry.l1_code.size_bytes / line_bytes, static_cast<int>(geometry.l1_code.ways)),
      l2_(geometry.l2.size_bytes / line_bytes, static_cast<int>(geometry.l2.ways)),
      l3_(geometry.l3.size_bytes / line_bytes, static_cast<int>(geometry.l3.ways)),
      directories_(geometry.translation.upper_level_entries, -1), streams_(geometry.prefetchers.streams) {
    for (const TlbGeometry& tlb : geometry.tlbs) tlbs_.push_back({tlb, SetAssociative(tlb.entries, tlb.ways)});
    reset_facts();
}

void MemorySystem::reset_facts() {
    for (const char* name : fact_names) facts_[name] = 0;
}

void MemorySystem::count(const char* name, double amount) {
    if (timed_) facts_.find(name)->second += amount;
}

void MemorySystem::begin_window() {
    for (SetAssociative* cache : {&l1_data_, &l1_code_, &l2_, &l3_, &directories_}) cache->settle();
    for (TlbLevel& level : tlbs_) level.entries.settle();
    l1_outstanding_.clear();
    l2_outstanding_.clear();
    channel_free_at_ = 0;
    timed_ = true;
    reset_facts();
}

MemorySystem::TlbLevel* MemorySystem::buffer(int level, bool code, std::uint64_t page_bytes) {
    for (TlbLevel& tlb : tlbs_) {
        const bool serves = code ? tlb.geometry.code : tlb.geometry.data;
        const auto& sizes = tlb.geometry.page_bytes;
        if (tlb.geometry.level == level && serves && std::find(sizes.begin(), sizes.end(), page_bytes) != sizes.end()) return &tlb;
    }
    return nullptr;
}

std::uint64_t MemorySystem::walk(std::uint64_t page, std::uint64_t page_bytes, std::uint64_t cycle) {
    // The last level's entry is read from memory like any data; levels above it only when the walker does
    // not remember the directory that they lead to.
    const std::uint64_t entry_line = (page_table_area + (page_bytes << 32) + page * page_entry_bytes) / line_bytes;
    const std::uint64_t entries_per_table = small_page / page_entry_bytes;
    const std::uint64_t directory = (page / entries_per_table) ^ page_bytes;
    std::uint64_t done = cycle + geometry_.translation.walk_step_cycles;
    if (!directories_.find(directory)) {
        directories_.insert(directory, 0);
        const std::uint64_t upper_line = (page_table_area * 2 + page / entries_per_table * page_entry_bytes) / line_bytes;
        done = below(upper_line, done).ready_at + geometry_.translation.walk_step_cycles;
    }
    if (geometry_.translation.walk_starts_at_level <= 1) {
        if (const std::uint64_t* ready = l1_data_.find(entry_line)) return std::max(*ready, done) + geometry_.l1_data.latency;
        const Filled filled = below(entry_line, done);
        l1_data_.insert(entry_line, filled.ready_at);
        return filled.ready_at;
    }
    return below(entry_line, done).ready_at;
}

unsigned MemorySystem::translate(std::uint64_t address, std::uint64_t cycle, bool store, bool code) {
    const std::uint64_t page_bytes = page_sizes_(address);
    const std::uint64_t page = address / page_bytes;
    TlbLevel* first = buffer(1, code, page_bytes);
    TlbLevel* second = buffer(2, code, page_bytes);
    const std::uint64_t key = page * 3 + (page_bytes == small_page ? 0 : page_bytes == large_page ? 1 : 2);
    if (first && first->entries.find(key)) return 0;
    const std::string size = size_name(page_bytes);
    if (!code) count("dtlb_misses");
    if (second && second->entries.find(key)) {
        if (timed_) {
            if (code) {
                count("itlb_l2_hits");
            } else {
                count(("dtlb_l2_hits_" + size).c_str());
                count(store ? "store_stlb_hits" : "load_stlb_hits");
            }
        }
        if (first) first->entries.insert(key, 0);
        return geometry_.translation.l2_hit_cycles;
    }
    const std::uint64_t done = walk(page, page_bytes, cycle + geometry_.translation.l2_hit_cycles);
    if (timed_) {
        const std::string prefix = code ? "itlb_" : store ? "store_" : "load_";
        count((prefix + "walks").c_str());
        count((prefix + "walks_" + size).c_str());
        count((prefix + "walk_cycles").c_str(), static_cast<double>(done - cycle));
        if (!code) {
            count("walks");
            count(("walks_" + size).c_str());
        }
    }
    if (second) second->entries.insert(key, 0);
    if (first) first->entries.insert(key, 0);
    return static_cast<unsigned>(done - cycle);
}

std::uint64_t MemorySystem::wait_for_slot(std::vector<std::uint64_t>& outstanding, unsigned limit, std::uint64_t cycle) {
    if (!timed_ || limit == 0) return cycle;
    outstanding.erase(std::remove_if(outstanding.begin(), outstanding.end(), [&](std::uint64_t done) { return done <= cycle; }),
                      outstanding.end());
    if (outstanding.size() < limit) return cycle;
    // The earliest of those that must still end before there is room.
    std::nth_element(outstanding.begin(), outstanding.end() - limit, outstanding.end());
    return *(outstanding.end() - limit);
}

bool MemorySystem::has_slot(std::vector<std::uint64_t>& outstanding, unsigned limit, std::uint64_t cycle) const {
    if (!timed_ || outstanding.size() < limit) return true;
    return static_cast<unsigned>(std::count_if(outstanding.begin(), outstanding.end(),
                                               [&](std::uint64_t done) { return done > cycle; })) < limit;
}

void MemorySystem::vary(const MemoryVariation& variation) {
    prefetching_ = variation.prefetch;
    if (variation.latency_ns > 0)
        memory_cycles_ = static_cast<std::uint64_t>(std::lround(variation.latency_ns * 1e-9 * geometry_.frequency_hz));
}

std::uint64_t MemorySystem::from_memory(std::uint64_t cycle) {
    ++lines_from_memory_;
    count("lines_from_memory");
    if (!timed_) return cycle;
    const double start = std::max(channel_free_at_, static_cast<double>(cycle));
    channel_free_at_ = start + line_cycles_;
    return static_cast<std::uint64_t>(start) + memory_cycles_;
}

MemorySystem::Filled MemorySystem::below(std::uint64_t line, std::uint64_t cycle) {
    if (const std::uint64_t* ready = l2_.find(line)) {
        const bool on_its_way = *ready > cycle;
        return {std::max(*ready, cycle) + (on_its_way ? 0 : geometry_.l2.latency), 2};
    }
    const std::uint64_t start = wait_for_slot(l2_outstanding_, geometry_.memory.outstanding_l2_misses, cycle);
    Filled filled;
    if (const std::uint64_t* ready = l3_.find(line)) {
        filled = {std::max(*ready, start + geometry_.l3.latency), 3};
    } else {
        filled = {from_memory(start + geometry_.l3.latency), 4};
        l3_.insert(line, filled.ready_at);
    }
    if (timed_) l2_outstanding_.push_back(filled.ready_at);
    l2_.insert(line, filled.ready_at);
    return filled;
}

MemorySystem::Filled MemorySystem::data(std::uint64_t line, std::uint64_t cycle, bool demand) {
    if (const std::uint64_t* ready = l1_data_.find(line)) {
        if (*ready <= cycle) return {cycle, 1};
        return {*ready, 0};
    }
    const std::uint64_t start = wait_for_slot(l1_outstanding_, geometry_.memory.outstanding_l1_misses, cycle);
    const Filled filled = below(line, start);
    if (timed_) l1_outstanding_.push_back(filled.ready_at);
    l1_data_.insert(line, filled.ready_at);
    if (timed_) {
        static constexpr const char* sources[] = {"", "", "_l2", "_l3", "_memory"};
        for (const char* kind : {"l1d_fills", "l1d_demand_fills"}) {
            if (!demand && std::string_view(kind) == "l1d_demand_fills") continue;
            count(kind);
            count((std::string(kind) + sources[filled.level]).c_str());
        }
        count(filled.level == 2 ? "l2_hits" : "l2_misses");
        if (filled.level > 2) count(filled.level == 3 ? "l3_hits" : "l3_misses");
    }
    return filled;
}

unsigned MemorySystem::load(std::uint64_t address, std::uint64_t, std::uint64_t cycle) {
    const unsigned translation = translate(address, cycle, false, false);
    const std::uint64_t line = address / line_bytes;
    const std::uint64_t start = cycle + translation;
    const Filled filled = data(line, start, true);
    train(line, start, filled.level != 1);
    switch (filled.level) {
        case 0: count("loads_in_flight_hit"); break;
        case 1: count("loads_l1_hit"); break;
        case 2: count("loads_l2_hit"); break;
        case 3: count("loads_l3_hit"); break;
        default: count("loads_l3_miss"); break;
    }
    if (filled.level > 1) count("loads_l1_miss");
    if (filled.level > 2) count("loads_l2_miss");
    const std::uint64_t waited = filled.ready_at - cycle;
    if (filled.level == 1) return translation;
    // Latencies are load to use, and the pipeline counts the first level's itself.
    return static_cast<unsigned>(waited > geometry_.l1_data.latency ? waited - geometry_.l1_data.latency : 0);
}

std::uint64_t MemorySystem::store(std::uint64_t address, std::uint64_t, std::uint64_t cycle) {
    const unsigned translation = translate(address, cycle, true, false);
    const std::uint64_t line = address / line_bytes;
    const std::uint64_t start = cycle + translation;
    const Filled filled = data(line, start, true);
    train(line, start, filled.level != 1);
    return std::max(filled.ready_at, start);
}

void MemorySystem::prefetch(std::uint64_t address, std::uint64_t cycle) {
    const unsigned translation = translate(address, cycle, false, false);
    data(address / line_bytes, cycle + translation, false);
}

unsigned MemorySystem::fetch(std::uint64_t address, std::uint64_t cycle) {
    const unsigned translation = translate(address, cycle, false, true);
    const std::uint64_t line = address / line_bytes;
    if (l1_code_.find(line)) return translation;
    l1_code_.insert(line, 0);
    const Filled filled = below(line, cycle + translation);
    count(filled.level == 2 ? "l2_code_hits" : "l2_code_misses");
    return static_cast<unsigned>(filled.ready_at - cycle);
}

void MemorySystem::train(std::uint64_t line, std::uint64_t cycle, bool missed) {
    if (!prefetching_) return;
    const std::uint64_t lines_per_page = small_page / line_bytes;
    const auto ask = [&](std::uint64_t wanted, bool into_l1) {
        // Prefetchers stay within the page.
        if (wanted / lines_per_page != line / lines_per_page) return;
        if (into_l1 ? l1_data_.find(wanted) != nullptr : l2_.find(wanted) != nullptr) return;
        // A prefetch that finds no room is dropped.
        if (into_l1 && !has_slot(l1_outstanding_, geometry_.memory.outstanding_l1_misses, cycle)) return;
        if (!has_slot(l2_outstanding_, geometry_.memory.outstanding_l2_misses, cycle)) return;
        count("lines_prefetched");
        if (into_l1)
            data(wanted, cycle, false);
        else
            below(wanted, cycle);
    };
    if (streams_.empty()) return;
    // One stream per page: lines that follow one another in one direction.
    const std::uint64_t page = line / lines_per_page;
    Stream* stream = nullptr;
    for (Stream& candidate : streams_)
        if (candidate.used && candidate.last_line / lines_per_page == page) stream = &candidate;
    if (!stream) {
        stream = &*std::min_element(streams_.begin(), streams_.end(), [](const Stream& a, const Stream& b) { return a.used < b.used; });
        *stream = {line, ++use_clock_, 0, 0, line};
        return;
    }
    stream->used = ++use_clock_;
    const std::int64_t moved = static_cast<std::int64_t>(line - stream->last_line);
    if (moved == 0) return;
    const std::int64_t direction = moved > 0 ? 1 : -1;
    constexpr std::int64_t near = 2;
    stream->hits = direction == stream->direction && std::abs(moved) <= near ? stream->hits + 1 : 0;
    stream->direction = direction;
    stream->last_line = line;
    if (stream->hits < first_confident_hits) return;
    if (geometry_.prefetchers.next_line && missed) ask(line + static_cast<std::uint64_t>(direction), true);
    const std::int64_t distance = static_cast<std::int64_t>(geometry_.prefetchers.distance_lines);
    for (std::int64_t ahead = 1; ahead <= distance; ++ahead)
        ask(line + static_cast<std::uint64_t>(direction * ahead), ahead <= distance / 4);
}

void MemorySystem::warm(const StaticInstruction& instruction, const Step& step) {
    timed_ = false;
    if (const std::uint64_t line = instruction.address / line_bytes; line != last_code_line_) {
        last_code_line_ = line;
        fetch(instruction.address, 0);
    }
    if (step.load && !instruction.prefetch) load(step.load, instruction.address, 0);
    if (step.load && instruction.prefetch) prefetch(step.load, 0);
    if (step.store) store(step.store, instruction.address, 0);
}

}  // namespace tmaprobe::counters::model
