#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "record/metric.h"

namespace tmaprobe::record {

/// What says where a region begins and ends.
enum class RegionKind {
    marked,    ///< the program itself, with include/tmaprobe/region.h
    function,  ///< from its entry to its return, with what it calls: --region
};

/// How a program's marks were not as they should be.
enum class RegionMisuse {
    end_without_begin,  ///< on that thread: such an end is left out
    not_ended,          ///< the region around it ended first, and ended this one, too
    open_at_the_end,    ///< of its thread or process, which ended in it: its time is counted up to there
};

struct RegionMistake {
    RegionMisuse what = RegionMisuse::end_without_begin;
    std::uint64_t times = 0;
};

/// What the marks of a region say: sums over all threads and processes.
struct RegionTotals {
    std::uint64_t entries = 0;
    std::uint64_t iterations = 0;  ///< as the program says; 0: it says none
    std::uint64_t bytes = 0;       ///< as the program says; 0: it says none
    double time_ns = 0;  ///< by the clock, with what is called and what is waited for; of a recursion the outermost
    double own_ns = 0;   ///< of it in no region inside
    std::uint64_t threads = 0, processes = 0;  ///< that entered it
};

/// What the model, or the counters, say of the instructions of a region.
struct RegionCost {
    double instructions = 0, cycles = 0;  ///< of the windows, or counted (0: not); with regions inside
    std::uint64_t windows = 0;            ///< of the model, that have instructions of it
    std::uint64_t entry_windows = 0;      ///< of these, that were taken because it was entered
    /// Of the modelled time of the whole command, or, where regions are counted, of its processor time without what
    /// reading counters at marks took; with regions inside.
    double share = 0, low = 0, high = 0;
    double own_share = 0;            ///< of it in no region inside
    std::uint64_t entries_seen = 0;  ///< from begin to end, in what was traced or counted
    /// Of entries that were seen from begin to end; without the marks themselves. None: none was.
    std::optional<double> instructions_per_entry;
};

/// One region of a program.
struct Region {
    std::string name;
    RegionKind kind = RegionKind::marked;
    std::optional<std::uint64_t> inside;  ///< index of the region that it was first begun in; none: in none
    std::optional<RegionTotals> totals;   ///< none: a function has no marks
    std::optional<RegionCost> cost;       ///< none: `reason` says why
    std::vector<Metric> metrics;          ///< the tree of the region's instructions, with those of regions inside
    std::string reason;                   ///< why it has no tree; empty: it has one
    std::vector<RegionMistake> mistakes;
};

/// The regions of a command, in the order in which they were first begun.
struct Regions {
    std::vector<Region> list;
    double outside_share = 0;       ///< of the modelled, or processor, time, in no region
    std::uint64_t too_many = 0;     ///< begins of regions beyond those that there is room for
    std::uint64_t too_deep = 0;     ///< begins beyond the depth that there is room for
    std::uint64_t no_room_for = 0;  ///< begins of threads beyond those that there is room for
};

/// Of each iteration where the program says how many there are; nothing: it does not.
std::optional<double> ns_per_iteration(const Region& region);
std::optional<double> instructions_per_iteration(const Region& region);
std::optional<double> bytes_per_second(const Region& region);

}  // namespace tmaprobe::record

namespace tmaprobe {

template <>
struct Names<record::RegionKind> {
    using enum record::RegionKind;
    static constexpr std::array<std::pair<record::RegionKind, std::string_view>, 2> values{
        {{marked, "marked"}, {function, "function"}}};
};

template <>
struct Names<record::RegionMisuse> {
    using enum record::RegionMisuse;
    static constexpr std::array<std::pair<record::RegionMisuse, std::string_view>, 3> values{
        {{end_without_begin, "end_without_begin"}, {not_ended, "not_ended"}, {open_at_the_end, "open_at_the_end"}}};
};

}  // namespace tmaprobe
