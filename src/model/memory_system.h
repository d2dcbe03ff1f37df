#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/core/simulate.h"
#include "model/in_flight.h"
#include "model/line_channel.h"
#include "model/mapping.h"
#include "model/memory_facts.h"
#include "model/met_areas.h"
#include "model/modelled_cpu.h"
#include "model/region_prefetcher.h"
#include "model/set_associative.h"

namespace tmaprobe::model {

/// Page size in bytes at an address.
using PageSizes = std::function<std::uint64_t(std::uint64_t address)>;

/// Whether a page of 4 KiB is there that its program has not touched so far.
using Untouched = std::function<bool(std::uint64_t address)>;

/// Where a line or page is that was never met since warming began, in a program that had run before.
enum class Unknown {
    likely,       ///< as assume_met() says
    held_more,    ///< in a cache or buffer with eight times the odds
    missed_more,  ///< with an eighth of the odds
};

/// What of the memory system is varied to bound its answers.
struct MemoryVariation {
    double latency_ns = 0;  ///< of DRAM; 0: the geometry's. A third level's estimated latency goes with it
    bool prefetch = true;
    Unknown unknown = Unknown::likely;
    bool third_level = true;  ///< else others have it: what it would hold comes from DRAM
};

/// What of the memory system is better than it is, to see what it is worth.
struct IdealMemory {
    int caches_from = 0;                ///< nothing misses this level; 0: as it is
    bool translations = false;          ///< every page is known to the first level
    double latency = 1, bandwidth = 1;  ///< of DRAM: times as much
    unsigned outstanding = 1;           ///< times as many misses at once

    bool operator==(const IdealMemory&) const = default;
};

/// The target's caches, translation buffers, prefetchers and DRAM, seen by one core that has them for
/// itself: sharing with other cores is not modelled. Addresses are virtual. Which frame of memory a page of 4 KiB has,
/// and so which sets of the second level its lines compete for, is as good as chance in a machine that has run for a
/// while, and it is so here; of larger pages it is the address that decides.
/// A line that is on its way can be hit; at most the geometry's number of misses is outstanding, and lines from
/// each level follow one another as fast as it sends them. What the first level evicts goes back the same way where it
/// was written to; that lines go back to the third level or to DRAM takes nothing from what comes.
class MemorySystem final : public core::MemoryTiming {
  public:
    MemorySystem(const ModelledCpu& geometry, PageSizes page_sizes, const MemoryVariation& variation);

    void advance(std::uint64_t cycle) override { oldest_cycle_ = cycle; }
    core::Loaded load(std::uint64_t address, std::uint64_t instruction, std::uint64_t cycle) override;
    std::uint64_t store(std::uint64_t address, std::uint64_t instruction, std::uint64_t cycle) override;
    void prefetch(std::uint64_t address, std::uint64_t cycle) override;
    void bring(std::uint64_t address) override;
    unsigned load_in_vain(std::uint64_t address, std::uint64_t cycle) override;
    unsigned load_rest(std::uint64_t address, bool first_waits, std::uint64_t cycle) override;
    unsigned fetch(std::uint64_t address, std::uint64_t cycle) override;

    /// Before a window: the access changes caches, buffers and prefetchers, and takes no time.
    void warm(const trace::StaticInstruction& instruction, const trace::Step& step);
    /// Starts a window: nothing is on its way, and facts are counted from zero.
    void begin_window();
    /// Misses, hits and walks since begin_window() or reset_facts().
    Facts facts() const;
    void reset_facts() { facts_.fill(0); }
    const MemoryCounts& counts() const { return facts_; }
    /// The same state, with other latencies or without prefetchers from now on.
    void vary(const MemoryVariation& variation);
    /// The same state, with what is ideal from now on.
    void idealize(const IdealMemory& ideal);
    /// Small pages have frames in the order of their addresses from now on: what is compared does not hang on chance.
    void order_frames() { frames_by_chance_ = false; }
    /// Lines that no cache held since construction, while warming too.
    std::uint64_t lines_from_memory() const { return lines_from_memory_; }
    /// Different lines that the second level was asked for and did not hold.
    std::uint64_t lines_met() const { return met_areas_.lines_met(); }
    /// What part of the third level holds lines of ours, where others fill it, too, and the program takes so long for
    /// an instruction: the less, the longer it takes to come back to a line. 1: all of it.
    double part_of_l3(double cycles_an_instruction) const;
    /// It is that from now on.
    void share_l3(double cycles_an_instruction) { part_of_l3_ = part_of_l3(cycles_an_instruction); }
    /// The program ran before and has so many bytes in memory: what was not met yet may be held all the same. A line
    /// that is met again after more than was met since warming began, and at most after all of its memory: any number
    /// of bytes between these is as likely as another. 0: the program has just begun, and nothing is held.
    void assume_met(std::uint64_t resident_bytes) {
        resident_bytes_ = resident_bytes;
        met_areas_.begin_moment();
        steps_ = 0;
        lines_before_moment_ = lines_from_memory_;
        touched_pages_ = SetAssociative(many_touched, 16);
    }
    /// What the kernel clears as it is touched for the first time in the moment: after that the first level has its
    /// lines, and the entry of the page table (of a Zen 4 4.1 cycles a load, by the clock).
    void ask_untouched(Untouched untouched) { untouched_ = std::move(untouched); }

  private:
    struct Filled {
        std::uint64_t ready_at = 0;
        int level = 1;    ///< 1: first level, 2, 3, 4: DRAM; 0: the line was on its way already
        int sent_by = 0;  ///< which level sends what is on its way; 0: that level
        int sender() const { return sent_by ? sent_by : level; }
    };
    /// From when to when something takes up a place.
    struct Span {
        std::uint64_t begin = 0, end = 0;
    };
    struct Translation {
        unsigned cycles = 0;
        bool asked = false;  ///< of the second level; else the first has it, or will
    };
    struct Translating {
        Span time;
        std::uint64_t key = 0;  ///< of the page
        bool code = false;
    };
    struct OnItsWay {
        std::uint64_t begin = 0, end = 0;
        int sent_by = 1;
    };
    struct Stream {
        std::uint64_t last_line = 0, used = 0;
        std::int64_t direction = 0;
        unsigned hits = 0;
        bool crosses = false;  ///< goes on into the page after decided_page
        std::uint64_t decided_page = 0;
        std::uint64_t decided_line = 0, decided_held = 0;  ///< its line then, and held_lines_
    };
    static constexpr std::size_t page_sizes = 3;  ///< 4 KiB, 2 MiB, 1 GiB
    /// Which of `tlbs_` serve data or code in pages of each size, by level; -1: none.
    using Serving = std::array<std::array<int, page_sizes>, 2>;

    Translation translate(std::uint64_t address, std::uint64_t cycle, bool store, bool code);
    /// Of a page that is mapped so large, what an entry of a TLB holds.
    std::uint64_t held_bytes(std::uint64_t mapped_bytes) const;
    /// When the walk is done. `is_split`: the guest's page is larger.
    std::uint64_t walk(std::uint64_t page, std::uint64_t page_bytes, bool is_split, std::uint64_t cycle);
    /// Of the page table, with the page's entry.
    static std::uint64_t entry_line_of(std::uint64_t page, std::uint64_t page_bytes);
    /// A translation that was asked for at `cycle` is there at `done`: how long that takes.
    Translation translated(std::uint64_t key, bool code, std::uint64_t cycle, std::uint64_t done);
    /// How long one that the first level will have is still on its way; asked earlier, it takes as long as it took.
    unsigned waits_for_translation(std::uint64_t key, bool code, std::uint64_t cycle) const;
    void serve(std::size_t tlb, const TlbGeometry& geometry);
    SetAssociative* buffer(int level, bool code, std::size_t size);
    Filled data(std::uint64_t line, std::uint64_t cycle, bool demand);
    Filled below(std::uint64_t line, std::uint64_t cycle, bool code = false);
    /// Of a line that the third level was given: whether others have not displaced it since.
    bool left_by_others(std::uint64_t line, std::uint64_t place) const;
    Filled never_met(std::uint64_t line, std::uint64_t cycle, bool code);
    /// What is likely by assume_met(), with the odds that are to be tried.
    double as_varied(double likely) const;
    /// Which cache holds a line that was never met: 2, 3, or 4 for none.
    int level_of_unknown(std::uint64_t line, bool code);
    /// How likely a place of so many bytes holds what was not met among the last `met_bytes`.
    double likely_held(std::uint64_t bytes, std::uint64_t met_bytes, bool code) const;
    /// `server`: which buffer of the second level would hold it; -1: none.
    bool holds_unknown_page(int server, std::uint64_t key, std::uint64_t page_bytes);
    /// Whether this is the first time that its page is touched, which is cleared then.
    bool touches_first(std::uint64_t address, std::uint64_t entry_line);
    /// Cleared by the kernel.
    void cleared(std::uint64_t line);
    bool has_slot(const InFlight& outstanding, unsigned limit, std::uint64_t cycle) const;
    std::uint64_t from_memory(std::uint64_t cycle);
    /// An access of a line, which that level had, leads the stream prefetcher on.
    void train(std::uint64_t line, std::uint64_t cycle, int level);
    /// Asks for lines that come with one that missed the first level, as they did before.
    void ask_around(std::uint64_t line, std::uint64_t instruction, std::uint64_t cycle, int level);
    /// Prefetches a line because of another, or drops that where there is no room.
    void ask_ahead(std::uint64_t line, std::uint64_t asked_by, std::uint64_t cycle, bool first_level);
    /// What comes after a stream's last line is asked for.
    void go_ahead(Stream& stream, std::uint64_t cycle, bool missed);
    /// Whether a stream goes on into the next page.
    bool crosses_page(Stream& stream);
    std::uint64_t wait_for_slot(InFlight& outstanding, unsigned limit, std::uint64_t cycle);
    /// When the line is there for a question at `cycle`, and who sends it: not after `cycle`, when it is not on its
    /// way. What asks first in program order need not be first in time: an earlier question brings the line earlier.
    Filled arrival(std::uint64_t line, std::uint64_t cycle) const;
    void on_its_way(std::uint64_t line, const Filled& filled, std::uint64_t cycle);
    /// What the second level knows a line by: line_in_frames().
    std::uint64_t in_frames(std::uint64_t line) const;
    /// Until a line at this place, as in_frames() knows it, comes from its slice of the third level.
    std::uint64_t third_level_cycles(std::uint64_t place) const;
    LineChannel& l2_bank(std::uint64_t line) { return l2_banks_[line % l2_banks_.size()]; }
    void into_l2(std::uint64_t line);
    void into_l1(std::uint64_t line, std::uint64_t cycle);
    void written(std::uint64_t line) { written_[line % written_.size()] = line; }
    void count(MemoryFact fact, std::uint64_t amount = 1) {
        if (timed_) facts_[static_cast<std::size_t>(fact)] += amount;
    }

    ModelledCpu geometry_;
    PageSizes page_sizes_;
    bool prefetching_;
    bool has_third_level_ = true;
    bool frames_by_chance_ = true;
    IdealMemory ideal_;
    Unknown unknown_ = Unknown::likely;
    std::uint64_t resident_bytes_ = 0;
    double part_of_l3_ = 1;
    std::uint64_t steps_ = 0;  ///< of the moment
    std::uint64_t memory_cycles_;
    LineChannel from_memory_, from_l3_, into_l1_, into_l1_code_, second_buffers_;
    std::vector<LineChannel> l2_banks_;
    SetAssociative l1_data_, l1_code_, l2_, l3_;
    MetAreas met_areas_;
    std::unordered_map<std::uint64_t, OnItsWay> arrivals_;  ///< of lines that are on their way
    std::uint64_t buffers_full_until_ = 0;  ///< until then some demand waited for room among the misses in flight
    std::vector<SetAssociative> tlbs_;
    std::vector<std::uint64_t> tlb_entries_;
    static constexpr std::uint64_t many_touched = 1 << 14;
    SetAssociative met_pages_;
    Untouched untouched_;
    SetAssociative touched_pages_{many_touched, 16};  ///< that were untouched as the moment began
    std::uint64_t pages_met_ = 0;
    Serving serving_data_{}, serving_code_{};
    std::vector<std::uint64_t> written_;  ///< lines of the first level, by their last bits; a few are forgotten
    SetAssociative directories_;          ///< upper levels of the page table that the walker remembers
    std::vector<Stream> streams_;
    RegionPrefetcher regions_;
    std::uint64_t held_lines_ = 0;               ///< that the first level asked for and the second had had for long
    double stays_owed_ = 0;                      ///< pages that streams were to stay in, less those that they did
    std::array<Translating, 16> translating_{};  ///< asked for last
    std::size_t next_translating_ = 0;
    std::uint64_t all_translated_ = 0;  ///< none of them comes later
    InFlight l1_outstanding_, l2_outstanding_, walks_outstanding_;
    std::uint64_t oldest_cycle_ = 0;  ///< no question is about one before it
    std::uint64_t use_clock_ = 0;
    std::uint64_t lines_from_memory_ = 0, lines_before_moment_ = 0, last_code_line_ = 0;
    bool timed_ = false;  ///< false while warming
    MemoryCounts facts_{};
};

}  // namespace tmaprobe::model
