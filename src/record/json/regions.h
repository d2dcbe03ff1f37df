// How regions stand in JSON.
#pragma once

#include "base/json/fields.h"
#include "record/json/metric.h"
#include "record/regions.h"

namespace tmaprobe::json {

template <>
struct Description<record::RegionMistake> {
    using T = record::RegionMistake;
    static constexpr std::string_view name = "region_mistake", meaning = "Marks that were not as they should be";
    static constexpr auto fields = std::make_tuple(
        field(
            "what", &T::what,
            "end_without_begin: on that thread, such an end is left out; not_ended: the region around it ended first; "
            "open_at_the_end: its thread or process ended in it"),
        field("times", &T::times, "How often"));
};

template <>
struct Description<record::RegionTotals> {
    using T = record::RegionTotals;
    static constexpr std::string_view name = "region_totals",
                                      meaning = "What the marks of a region say: sums over all threads and processes";
    static constexpr auto fields =
        std::make_tuple(field("entries", &T::entries, "How often it was begun"),
                        optional("iterations", &T::iterations, "As the program says; none: it says none"),
                        optional("bytes", &T::bytes, "As the program says; none: it says none"),
                        field("time_ns", &T::time_ns,
                              "By the clock, with what is called and what is waited for; of a recursion the outermost"),
                        field("own_ns", &T::own_ns, "Of it in no region inside"),
                        field("threads", &T::threads, "That entered it, as far as they are told apart"),
                        field("processes", &T::processes, "That entered it"));
};

template <>
struct Description<record::RegionCost> {
    using T = record::RegionCost;
    static constexpr std::string_view name = "region_cost",
                                      meaning = "What the model, or the counters, say of the instructions of a region";
    static constexpr auto fields = std::make_tuple(
        field("instructions", &T::instructions,
              "Of the simulated windows, or counted; with regions inside; 0: not counted"),
        field("cycles", &T::cycles, "That these take on the target; 0: not counted"),
        field("windows", &T::windows, "Of the model, that have instructions of it"),
        optional("entry_windows", &T::entry_windows,
                 "Of these, those that were taken because it was entered; they are none of the whole command's"),
        field("share", &T::share,
              "Of the modelled time of the whole command, or, where regions are counted, of its processor "
              "time without what reading counters at marks took; with regions inside"),
        field("low", &T::low, "Of the share"), field("high", &T::high, "Of the share"),
        field("own_share", &T::own_share, "Of the same time, in no region inside"),
        field("entries_seen", &T::entries_seen, "Entries that were traced from begin to end, or counted"),
        optional("instructions_per_entry", &T::instructions_per_entry,
                 "Mean of the entries that were seen, without the marks; none: none was seen"));
};

template <>
struct Description<record::Region> {
    using T = record::Region;
    static constexpr std::string_view name = "region", meaning = "One region of a program";
    static constexpr auto fields = std::make_tuple(
        field("name", &T::name, "As the program or the user names it"),
        field("kind", &T::kind, "marked: by the program; function: from its entry to its return, with what it calls"),
        optional("inside", &T::inside, "Index of the region that it was first begun in"),
        optional("totals", &T::totals, "What the marks say; none: a function has none"),
        optional("cost", &T::cost, "Of its instructions; none: `reason` says why"),
        optional("metrics", &T::metrics, "The tree of the region's instructions, with those of regions inside"),
        optional("reason", &T::reason, "Why it has no tree"),
        optional("mistakes", &T::mistakes, "Marks that were not as they should be"));
};

template <>
struct Description<record::Regions> {
    using T = record::Regions;
    static constexpr std::string_view name = "regions", meaning = "The regions of a command: tmaprobe/region.h";
    static constexpr auto fields = std::make_tuple(
        field("list", &T::list, "In the order in which they were first begun"),
        field("outside_share", &T::outside_share, "Of the modelled, or processor, time, in no region"),
        optional("too_many", &T::too_many, "Begins of regions beyond those that there is room for"),
        optional("too_deep", &T::too_deep, "Begins beyond the depth that there is room for"),
        optional("no_room_for", &T::no_room_for, "Begins of threads beyond those that there is room for"));
};

}  // namespace tmaprobe::json
