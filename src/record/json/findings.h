// How the findings of single experiments and sources stand in JSON.
#pragma once

#include "base/json/fields.h"
#include "record/comparison.h"
#include "record/findings.h"

namespace tmaprobe::json {

template <>
struct Description<record::ComparedTime> {
    using T = record::ComparedTime;
    static constexpr std::string_view name = "compared_time", meaning = "Times of two runs side by side";
    static constexpr auto fields = std::make_tuple(
        added("before_ns", &T::before_ns, "Nanoseconds per operation"),
        added("after_ns", &T::after_ns, "Nanoseconds per operation"),
        added("ratio", &T::ratio, "after / before; null where one side has fewer than three clean repetitions"),
        added("low", &T::low, "95% interval of the ratio"), added("high", &T::high, "Its upper end"),
        added("confidence", &T::confidence, "With which low..high holds the true ratio"),
        added("differs", &T::differs, "Beyond the noise"),
        added("disturbed", &T::disturbed, "One side has too few undisturbed repetitions"),
        added("judged", &T::judged, "There was enough to tell a difference from noise"),
        added("before_repetitions", &T::before_repetitions, "That the times were compared by"),
        added("after_repetitions", &T::after_repetitions, "That the times were compared by"));
};

template <>
struct Description<record::ComparedMetric> {
    using T = record::ComparedMetric;
    static constexpr std::string_view name = "compared_metric", meaning = "One metric in both runs";
    static constexpr auto fields = std::make_tuple(
        field("name", &T::name, "As in the runs"), added("level", &T::level, "As in the runs").at_least(0),
        added("category", &T::category, "As in the runs"), added("before", &T::before, "Value"),
        added("after", &T::after, "Value"),
        added("beyond_bounds", &T::beyond_bounds, "Their intervals low..high do not touch"),
        added("of", &T::of, "Status of both"));
};

template <>
struct Description<record::Comparison> {
    using T = record::Comparison;
    static constexpr std::string_view name = "comparison", meaning = "Two runs side by side";
    static constexpr auto fields = std::make_tuple(
        added("before", &T::before, "What the one is called: a page mode, or a file"),
        added("after", &T::after, "What the other is called"), added("subject", &T::subject, "What both ran"),
        field("what", &T::what, "The findings in sentences"),
        added("metrics", &T::metrics, "Those that both have with the same status"),
        added("notes", &T::notes, "Why something was not compared"),
        added("time", &T::time, "null: one of them has no time"));
};

template <>
struct Description<record::Knee> {
    using T = record::Knee;
    static constexpr std::string_view name = "knee", meaning = "Where the cost of a curve begins to rise";
    static constexpr auto fields =
        std::make_tuple(added("pages", &T::pages, "Page mode of the curve; empty: a cache's, and so of all"),
                        field("size_bytes", &T::size_bytes, "Where it is").at_least(1),
                        added("ratio", &T::ratio, "Cost after the rise over cost before it"),
                        added("cause", &T::cause, "What explains it; empty: nothing does"),
                        optional("caused_by", &T::caused_by, "The kind of what explains it"),
                        added("kind", &T::kind, "predicted from the machine's caches and TLBs, or found in the curve"));
};

template <>
struct Description<record::SharePoint> {
    using T = record::SharePoint;
    static constexpr std::string_view name = "cache_share_point", meaning = "One block size chased in two ways";
    static constexpr auto fields = std::make_tuple(
        field("size_bytes", &T::size_bytes, "Of the block"),
        field("kept_ns", &T::kept_ns, "ns per load, lap after lap: what neighbours let us keep"),
        field("refreshed_ns", &T::refreshed_ns, "ns per load in short bursts, just after reading the block"));
};

template <>
struct Description<record::CacheShare> {
    using T = record::CacheShare;
    static constexpr std::string_view name = "cache_share",
                                      meaning = "How much of the last-level cache the machine really gave one core";
    static constexpr auto fields = std::make_tuple(
        field("cache_bytes", &T::cache_bytes, "What the machine says"),
        field("effective_bytes", &T::effective_bytes, "Largest block that stayed; 0: not even the smallest one"),
        field("memory_ns", &T::memory_ns, "ns per load of a block three times the cache"),
        field("points", &T::points, "Blocks, ascending"));
};

template <>
struct Description<record::SweepPlan> {
    using T = record::SweepPlan;
    static constexpr std::string_view name = "sweep_plan",
                                      meaning = "What was asked of a sweep, so that --resume can go on with it";
    static constexpr auto fields = std::make_tuple(
        field("kernel", &T::kernel, "--kernel"),
        field("variant", &T::variant, "--variant; empty: chosen by the machine"),
        field("sizes", &T::sizes, "All sizes in bytes, ascending"),
        field("pages", &T::pages, "--pages; none: the base page"), field("threads", &T::threads, "--threads"),
        field("cpus", &T::cpus, "--cpu; none: the quietest"), field("options", &T::options, "--option, by name"),
        field("level", &T::level, "--level"), field("metrics", &T::metrics, "--metric"),
        field("events", &T::events, "--event"), field("target", &T::target, "--target; empty: this machine's CPU"),
        field("assume_pages", &T::assume_pages, "--assume-pages; empty: not given"),
        field("multiplex", &T::multiplex, "--multiplex"), field("count_user", &T::count_user, "User mode is counted"),
        field("count_kernel", &T::count_kernel, "The kernel is counted"),
        field("repetitions", &T::repetitions, "--repeat; 0: as many as it takes"),
        field("seconds_per_point", &T::seconds_per_point, "Most time that a point is measured"),
        field("numa_node", &T::numa_node, "--numa-node; null: not given"),
        field("source", &T::source, "--source: auto, perf, model, none, or perf,model"));
};

template <>
struct Description<record::Alone> {
    using T = record::Alone;
    static constexpr std::string_view name = "alone", meaning = "What one thread alone takes per increment";
    static constexpr auto fields = std::make_tuple(
        field("cpu", &T::cpu, "Where it ran"),
        field("plain_ns", &T::plain_ns, "ns without the lock prefix; null: too few undisturbed repetitions"),
        field("locked_ns", &T::locked_ns, "ns with it; null: too few undisturbed repetitions"));
};

template <>
struct Description<record::CoherencyBaseline> {
    using T = record::CoherencyBaseline;
    static constexpr std::string_view name = "pairs_baseline", meaning = "What coherency time is measured from";
    static constexpr auto fields =
        std::make_tuple(field("kind", &T::kind, "two threads of one core, or one thread alone; empty: there is none"),
                        field("ns", &T::ns, "ns per operation; null: there is none"));
};

template <>
struct Description<record::PairClass> {
    using T = record::PairClass;
    static constexpr std::string_view name = "pair_class", meaning = "Pairs of CPUs at the same distance";
    static constexpr auto fields = std::make_tuple(
        field("class", &T::distance,
              "smt, l2, l3, package, two-packages, or a NUMA distance; on hybrids with the kinds of cores"),
        field("pairs", &T::pairs, "How many pairs the figures are over"),
        field("median_ns", &T::median_ns, "ns per operation"),
        added("min_ns", &T::min_ns, "ns per operation of the fastest pair"),
        added("max_ns", &T::max_ns, "ns per operation of the slowest pair"),
        added("coherency_ns", &T::coherency_ns, "ns beyond the baseline; null for the baseline itself"),
        added("coherency_cycles", &T::coherency_cycles, "The same in core cycles"),
        added("clock_hz", &T::clock_hz, "Core clock meanwhile, in Hz; null: not known"));
};

template <>
struct Description<record::CoherencyCpi> {
    using T = record::CoherencyCpi;
    static constexpr std::string_view
        name = "coherency_cpi",
        meaning = "Cycles per instruction when a share of the instructions meets a class's coherency time";
    static constexpr auto fields = std::make_tuple(field("without", &T::without, "CPI of the work without any sharing"),
                                                   field("shares", &T::shares, "Shares of the instructions"),
                                                   field("by_class", &T::by_class, "By class: the CPI at each share"));
};

template <>
struct Description<record::Pairs> {
    using T = record::Pairs;
    static constexpr std::string_view name = "pairs",
                                      meaning = "What two CPUs pay for sharing a cache line, pair by pair";
    static constexpr auto fields = std::make_tuple(
        added("kernel", &T::kernel, "atomic or pingpong"), field("cpus", &T::cpus, "The CPUs, ascending"),
        field("ns", &T::ns,
              "Matrix by place in cpus, both ways: ns per operation; null: not measured, or too few undisturbed "
              "repetitions"),
        added("classes", &T::classes, "By distance, the nearest first"),
        added("alone", &T::alone, "One thread alone; null for kernels that need two"),
        added("baseline", &T::baseline, "What coherency time is measured from"),
        added("cpi", &T::cpi, "What sharing makes of a program's CPI"));
};

template <>
struct Description<record::InterferenceState> {
    using T = record::InterferenceState;
    static constexpr std::string_view name = "state", meaning = "One state of an interference experiment";
    static constexpr auto fields = std::make_tuple(
        optional("state", &T::name,
                 "interference: alone, with neighbour, neighbour limited, victim protected, isolated, or a step of an "
                 "allocation"),
        optional("rounds_ns_per_op", &T::rounds_ns_per_op, "interference: ns per operation of each round"),
        optional(
            "compared_rounds", &T::compared_rounds,
            "interference: rounds in which this state and the victim alone both had enough undisturbed repetitions"),
        optional("not_compared", &T::not_compared,
                 "interference: why there is no against_alone: fewer than three such rounds"),
        optional("against_alone", &T::against_alone,
                 "interference: relative change of time per operation, median over the rounds"),
        optional("against_alone_low", &T::against_alone_low, "interference: interval of that median"),
        optional("against_alone_high", &T::against_alone_high, "interference: its upper end"));
};

template <>
struct Description<record::Allocation> {
    using T = record::Allocation;
    static constexpr std::string_view name = "allocation", meaning = "One step of an allocation sweep";
    static constexpr auto fields = std::make_tuple(
        field("control", &T::control, "l3: part of the cache; mb: memory bandwidth"),
        field("value", &T::value, "Bits of the bitmap, or the bandwidth cap"),
        added("unit", &T::unit, "bits, percent, MBps or units"), optional("of", &T::of, "All of it; 0: no upper end"));
};

template <>
struct Description<record::UsedTable> {
    using T = record::UsedTable;
    static constexpr std::string_view name = "table", meaning = "The tables that were used";
    static constexpr auto fields = std::make_tuple(
        added("folder", &T::folder,
              "Folder of the CPU in events/; of the core that stands in, where no folder is of the CPU"),
        added("title", &T::title, "What that CPU is called"),
        added("source", &T::source, "Where the facts come from, with version"),
        optional("tree", &T::tree,
                 "Whose tree it is: the CPU vendor's, or the model's own where the vendor publishes none; none: there "
                 "is no tree"));
};

template <>
struct Description<record::PoolChange> {
    using T = record::PoolChange;
    static constexpr std::string_view name = "reserved_pages",
                                      meaning =
                                          "Huge pages that were put into a pool for this run, and taken out after it";
    static constexpr auto fields = std::make_tuple(field("pages", &T::pages, "Their size: 2m, 1g"),
                                                   field("from", &T::from, "Pages in the pool before"),
                                                   field("to", &T::to, "Pages in the pool during the run"));
};

template <>
struct Description<record::IntervalValues> {
    using T = record::IntervalValues;
    static constexpr std::string_view name = "interval", meaning = "One interval of a run";
    static constexpr auto fields =
        std::make_tuple(added("at_seconds", &T::at_seconds, "Its end, in seconds since the run began"),
                        added("metrics", &T::metrics, "Values by name, in their units; null: none in this interval"),
                        optional("events", &T::events, "Counts by name, where no table makes metrics of them"));
};

template <>
struct Description<record::CoreValues> {
    using T = record::CoreValues;
    static constexpr std::string_view name = "core", meaning = "One core of those that were counted as a whole";
    static constexpr auto fields =
        std::make_tuple(field("core", &T::core, "Its number"), field("cpus", &T::cpus, "Its logical CPUs"),
                        field("metrics", &T::metrics, "Values by name, in their units; null: none"),
                        optional("name", &T::name, "The control group, where several were told apart"));
};

template <>
struct Description<record::Beside> {
    using T = record::Beside;
    static constexpr std::string_view name = "beside", meaning = "A second source's value of a metric";
    static constexpr auto fields = std::make_tuple(
        field("name", &T::name, "The metric's"), added("value", &T::value, "In the metric's unit; null: none"),
        added("low", &T::low, "Bounds of the value"), added("high", &T::high, "Its upper bound"),
        added("status", &T::status, "How it came about"), added("reason", &T::reason, "Why there is no value"));
};

template <>
struct Description<record::TriedVariant> {
    using T = record::TriedVariant;
    static constexpr std::string_view name = "tried_variant", meaning = "One of the variants that were tried";
    static constexpr auto fields = std::make_tuple(
        field("variant", &T::variant, "Its name"),
        field("slices", &T::slices, "Parts of the block that it was timed on"),
        field("bytes_per_second", &T::bytes_per_second, "Median over the slices, as the program sees bytes"),
        field("low", &T::low, "Interval of the median"), field("high", &T::high, "Its upper end"));
};

template <>
struct Description<record::VariantChoice> {
    using T = record::VariantChoice;
    static constexpr std::string_view
        name = "variant_trial",
        meaning =
            "How the kernel's vectors were chosen, where no variant was named, the block lies beyond the "
            "last-level cache and the CPU's table does not say";
    static constexpr auto fields = std::make_tuple(
        field("chosen", &T::chosen, "The variant"), optional("why_none", &T::why_none, "Why no trial could be made"),
        optional("size_bytes", &T::size_bytes, "Of the trial's block"),
        optional("took_ns", &T::took_ns, "Nanoseconds that the trial took, without getting its memory"),
        optional("variants", &T::variants, "Those that were tried"));
};

}  // namespace tmaprobe::json
