#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/names.h"

namespace tmaprobe::record {

enum class Experiment { run, sweep, pairs, interference, replay, gate };

/// How a metric's value came about, or why there is none.
enum class Status { measured, modelled, replayed, approximate, unavailable, not_counted };

/// Where the counts come from.
enum class SourceKind { perf, replay, model, none };

/// What is to be known of an event's count.
enum class Note {
    none,
    not_counted,              ///< it never had a counter
    partly_counted,           ///< in a part of the processes or on a part of the CPUs it never had one
    not_supported,            ///< the machine refuses the event
    no_permission,            ///< the kernel's settings forbid it
    not_implemented,          ///< it counts 0, and the PMU does not list it
    other_cores,              ///< it is an event of the other kind of core of a hybrid
    counters_taken,           ///< somebody else holds the counters
    impossible_zero,          ///< it counted 0, which it cannot
    wrapped,                  ///< the counter went over its end
    ran_longer_than_enabled,  ///< the kernel's times contradict each other; the value is not scaled
    read_failed,
    went_backwards,
    time_went_backwards,
};

/// What a metric's value is, or is a fraction of.
enum class MetricUnit { none, slots, clocks, uops, instructions, parent, per_kilo_instructions, ratio, count };

/// What a metric is about, whatever its vendor calls it.
enum class Category { none, frontend, bad_speculation, backend, retiring, tlb, other };

/// Pages that are asked for, or that a TLB holds. `none`: not known, or the base page.
enum class PageKind {
    none,
    size_4k,
    size_16k,
    size_64k,
    thp,
    size_1m,
    size_2m,
    size_16m,
    size_32m,
    size_512m,
    size_1g,
    size_16g
};

/// What the model changes, one thing at a time, to see how far its answer depends on what it cannot know.
enum class Variation {
    window,           ///< one of a kernel's windows alone
    window_left_out,  ///< a command's windows without one of them, as records of before have it
    drawn_moments,    ///< of a command: as if other moments of it had been met
    no_prefetchers,   ///< no hardware prefetcher
    memory_latency,   ///< either limit of the memory's latency, as records of before wrote it
    memory_latency_low,
    memory_latency_high,
    unknown_held,       ///< lines, pages and branches that were never met are in their cache, buffer or predictor
    unknown_missed,     ///< they are not
    third_level_taken,  ///< other virtual machines have the whole cache that they share with this one
    caches_not_warmed,  ///< a short life finds nothing that the life before left
    core_slower,        ///< all parts of the core as much slower than modelled as any may be by the clock
    core_faster,
    front_end_differs,  ///< one part alone, slower or faster
    speculation_differs,
    back_end_differs
};

/// Whose top-down tree the metrics are.
enum class TreeOwner {
    none,      ///< there is no tree
    vendor,    ///< the CPU vendor's
    tmaprobe,  ///< the project's own, where the vendor publishes none
};

}  // namespace tmaprobe::record

namespace tmaprobe {

template <>
struct Names<record::Experiment> {
    using enum record::Experiment;
    static constexpr std::array<std::pair<record::Experiment, std::string_view>, 6> values{
        {{run, "run"},
         {sweep, "sweep"},
         {pairs, "pairs"},
         {interference, "interference"},
         {replay, "replay"},
         {gate, "gate"}}};
};

template <>
struct Names<record::Variation> {
    using enum record::Variation;
    static constexpr std::array<std::pair<record::Variation, std::string_view>, 16> values{
        {{window, "window"},
         {window_left_out, "window left out"},
         {drawn_moments, "drawn moments"},
         {no_prefetchers, "no prefetchers"},
         {memory_latency, "memory latency"},
         {memory_latency_low, "memory latency low"},
         {memory_latency_high, "memory latency high"},
         {unknown_held, "what was never met is held"},
         {unknown_missed, "what was never met is missed"},
         {third_level_taken, "third level taken by others"},
         {caches_not_warmed, "caches not warmed"},
         {core_slower, "core slower"},
         {core_faster, "core faster"},
         {front_end_differs, "front end differs"},
         {speculation_differs, "speculation differs"},
         {back_end_differs, "back end differs"}}};
};

template <>
struct Names<record::Status> {
    using enum record::Status;
    static constexpr std::array<std::pair<record::Status, std::string_view>, 6> values{{{measured, "measured"},
                                                                                        {modelled, "modelled"},
                                                                                        {replayed, "replayed"},
                                                                                        {approximate, "approximate"},
                                                                                        {unavailable, "unavailable"},
                                                                                        {not_counted, "not_counted"}}};
};

template <>
struct Names<record::SourceKind> {
    using enum record::SourceKind;
    static constexpr std::array<std::pair<record::SourceKind, std::string_view>, 4> values{
        {{perf, "perf"}, {replay, "replay"}, {model, "model"}, {none, "none"}}};
};

template <>
struct Names<record::Note> {
    using enum record::Note;
    static constexpr std::array<std::pair<record::Note, std::string_view>, 14> values{
        {{none, ""},
         {not_counted, "not_counted"},
         {partly_counted, "partly_counted"},
         {not_supported, "not_supported"},
         {no_permission, "no_permission"},
         {not_implemented, "not_implemented"},
         {other_cores, "other_cores"},
         {counters_taken, "counters_taken"},
         {impossible_zero, "impossible_zero"},
         {wrapped, "wrapped"},
         {ran_longer_than_enabled, "ran_longer_than_enabled"},
         {read_failed, "read_failed"},
         {went_backwards, "went_backwards"},
         {time_went_backwards, "time_went_backwards"}}};
};

template <>
struct Names<record::MetricUnit> {
    using enum record::MetricUnit;
    static constexpr std::array<std::pair<record::MetricUnit, std::string_view>, 9> values{
        {{none, ""},
         {slots, "slots"},
         {clocks, "clocks"},
         {uops, "uops"},
         {instructions, "instructions"},
         {parent, "parent"},
         {per_kilo_instructions, "per_kilo_instructions"},
         {ratio, "ratio"},
         {count, "count"}}};
};

template <>
struct Names<record::Category> {
    using enum record::Category;
    static constexpr std::array<std::pair<record::Category, std::string_view>, 7> values{
        {{none, ""},
         {frontend, "frontend"},
         {bad_speculation, "bad_speculation"},
         {backend, "backend"},
         {retiring, "retiring"},
         {tlb, "tlb"},
         {other, "other"}}};
};

template <>
struct Names<record::PageKind> {
    using enum record::PageKind;
    static constexpr std::array<std::pair<record::PageKind, std::string_view>, 12> values{{{none, ""},
                                                                                           {size_4k, "4k"},
                                                                                           {size_16k, "16k"},
                                                                                           {size_64k, "64k"},
                                                                                           {thp, "thp"},
                                                                                           {size_1m, "1m"},
                                                                                           {size_2m, "2m"},
                                                                                           {size_16m, "16m"},
                                                                                           {size_32m, "32m"},
                                                                                           {size_512m, "512m"},
                                                                                           {size_1g, "1g"},
                                                                                           {size_16g, "16g"}}};
};

template <>
struct Names<record::TreeOwner> {
    using enum record::TreeOwner;
    static constexpr std::array<std::pair<record::TreeOwner, std::string_view>, 3> values{
        {{none, "none"}, {vendor, "vendor"}, {tmaprobe, "tmaprobe"}}};
};

}  // namespace tmaprobe
