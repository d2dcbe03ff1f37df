// What single experiments find, beside their runs' times and metrics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "record/clock_check.h"
#include "record/event_key.h"
#include "record/kinds.h"
#include "record/sampling.h"

namespace tmaprobe::record {

// Sweep.

enum class KneeKind { predicted, found };

/// What makes a curve rise. `unknown`: nothing that is known here explains it.
enum class KneeCause {
    unknown,
    cache,          ///< the end of a cache
    tlb,            ///< the end of a TLB's reach
    part_of_cache,  ///< of a shared cache, less than its size is to be had
};

/// A knee of a latency or bandwidth curve.
struct Knee {
    std::uint64_t size_bytes = 0;
    double ratio = 1;   ///< after / before
    std::string cause;  ///< "L2 TLB reach (4k)"; empty: not explained
    KneeKind kind = KneeKind::predicted;
    PageKind pages = PageKind::none;           ///< of the curve; none: it is a cache's, and of all
    KneeCause caused_by = KneeCause::unknown;  ///< `cause` says it in words
};

/// What a curve shows over the axis.
enum class CurveQuantity { latency, bandwidth };

/// One block size chased in two ways, ns per load.
struct SharePoint {
    std::uint64_t size_bytes = 0;
    double kept_ns = 0;       ///< lap after lap: what neighbours let us keep
    double refreshed_ns = 0;  ///< in short bursts, just after reading the block: the cache as it is built
};

/// How much of the last-level cache the machine really gave one core.
struct CacheShare {
    std::uint64_t cache_bytes = 0;      ///< what the machine says
    std::uint64_t effective_bytes = 0;  ///< largest block that stayed; 0: not even the smallest one
    double memory_ns = 0;               ///< of a block three times the cache
    std::vector<SharePoint> points;     ///< ascending
};

/// What was asked of a sweep: enough to go on with it from its record.
struct SweepPlan {
    std::string kernel, variant;
    std::vector<std::uint64_t> sizes;
    std::vector<PageKind> pages;
    int threads = 1;
    std::vector<int> cpus;
    std::map<std::string, std::string> options;
    int level = 1;
    std::vector<std::string> metrics, events;
    std::string target;
    PageKind assume_pages = PageKind::none;
    bool multiplex = false, count_user = true, count_kernel = false;
    int repetitions = 0;
    double seconds_per_point = 0;
    std::optional<int> numa_node;
    std::string source;  ///< as --source has it
};

// Pairs.

/// A lone thread's increment; nothing where too few repetitions were undisturbed.
struct Alone {
    int cpu = 0;
    std::optional<double> plain_ns, locked_ns;
};

/// What coherency time is measured from.
struct CoherencyBaseline {
    std::string kind;  ///< "two threads of one core", "one thread alone"; empty: there is none
    std::optional<double> ns;
};

/// Pairs of CPUs at the same distance.
struct PairClass {
    std::string distance;  ///< "smt", "l2", "l3", "package", "two-packages", "numa-0-1", ...
    std::uint64_t pairs = 0;
    std::optional<double> median_ns, min_ns, max_ns;
    std::optional<double> coherency_ns, coherency_cycles;  ///< beyond the baseline
    std::optional<double> clock_hz;
};

/// Cycles per instruction when a share of the instructions meets the coherency time of a class.
struct CoherencyCpi {
    double without = 0;
    std::vector<double> shares;
    std::map<std::string, std::vector<double>> by_class;  ///< for each share
};

struct Pairs {
    std::string kernel;
    std::vector<int> cpus;
    std::vector<std::vector<std::optional<double>>> ns;  ///< by place in cpus, both ways; nothing: not measured
    std::vector<PairClass> classes;                      ///< the nearest first
    std::optional<Alone> alone;
    CoherencyBaseline baseline;
    CoherencyCpi cpi;
};

// Interference.

/// One state of an interference experiment.
struct InterferenceState {
    std::string name;  ///< "alone", "with neighbour", ...
    std::vector<double> rounds_ns_per_op;
    std::optional<std::uint64_t> compared_rounds;
    std::string not_compared;  ///< why there is no against_alone
    std::optional<double> against_alone, against_alone_low,
        against_alone_high;  ///< relative change of time, 95% interval
};

enum class AllocationControl { l3, mb };

/// One step of an allocation sweep.
struct Allocation {
    AllocationControl control = AllocationControl::l3;
    double value = 0;          ///< bits of the bitmap, or the bandwidth cap
    std::string unit;          ///< "bits", "percent", "MBps" or "units"
    std::optional<double> of;  ///< all of it; 0 or nothing: no upper end
};

// Every experiment.

/// The tables that were used.
struct UsedTable {
    std::string folder, title, source;
    std::optional<TreeOwner> tree;  ///< nothing in records of earlier versions
};

/// Huge pages that were put into a pool for this run, and taken out after it.
struct PoolChange {
    std::string pages;
    std::uint64_t from = 0, to = 0;
};

/// Values of metrics or counts by name; nothing where there is none.
using Values = std::map<std::string, std::optional<double>>;

/// One interval of a run.
struct IntervalValues {
    double at_seconds = 0;  ///< end of the interval, since the run began
    Values metrics;
    Values events;  ///< where no table makes metrics of them
};

/// One core of those that were counted as a whole, or what else counts were told apart by (`per` among the parameters).
struct CoreValues {
    int core = 0;
    std::vector<int> cpus;
    Values metrics;
    std::string name;  ///< of a control group; `core` is then its place in the list
};

/// A second source's value of a metric.
struct Beside {
    std::string name;
    double value = 0, low = 0, high = 0;
    Status status = Status::unavailable;
    std::string reason;
};

/// One of the variants that were tried.
struct TriedVariant {
    std::string variant;
    std::uint64_t slices = 0;
    double bytes_per_second = 0, low = 0, high = 0;
};

/// How a kernel's vectors were chosen.
struct VariantChoice {
    std::string chosen;
    std::string why_none;  ///< why no trial could be made
    std::optional<std::uint64_t> size_bytes;
    std::optional<double> took_ns;
    std::vector<TriedVariant> variants;
};

// What single sources say of a run.

/// What starting and stopping the counters costs.
struct CountingOverhead {
    std::string method;  ///< "rdpmc", "read" or "ioctl"
    double pair_ns = 0;
    std::map<std::string, double> counts;      ///< of an empty pair
    std::map<std::string, double> subtracted;  ///< of these, what values were lowered by
};

/// Why a latency at retirement was not sampled; the published mean stands in for it where there is one.
enum class NoLatency {
    none,             ///< it was sampled
    not_precise,      ///< kernel, PMU or hypervisor take no precise samples of the event, or none with latencies
    no_permission,    ///< the kernel's settings forbid it
    no_room,          ///< for so many open files, or so much locked memory
    with_intervals,   ///< intervals are shown before all is sampled
    no_samples,       ///< the event did not happen, or never had a counter
    too_few_samples,  ///< for a mean with bounds
    always_zero,      ///< samples come, and their latencies are all 0: the CPU or the kernel does not know any
};

/// The latency at retirement of one event ("EVENT:R"): cycles of the core from the retirement of the instruction before
/// to that of the one that the event is of.
struct RetireLatency {
    std::string event;  ///< as the formulas spell it
    std::string pmu;
    std::uint64_t samples = 0, lost = 0;
    double mean = 0, low = 0, high = 0;  ///< cycles, and between which the true mean lies with 95% confidence
    NoLatency missing = NoLatency::none;
    /// What it is of, from the plan; nothing in a record that was read. Not written.
    std::optional<EventKey> key{};
};

struct PerfDetail {
    std::optional<CountingOverhead> overhead;
    std::vector<RetireLatency> retire_latencies;
    std::map<std::string, double> residency;  ///< of a hybrid: share of the time by PMU
    bool interrupted = false;
};

struct ModelWindow {
    double cycles = 0, instructions = 0, native_ns = 0;
};

/// The same with one thing of the model changed.
struct ModelVariation {
    Variation what = Variation::window;
    double cycles = 0, instructions = 0;
};

/// What the model ran on.
struct ModelDetail {
    std::string core_model;
    double frequency_hz = 0;
    std::uint64_t windows = 0;
    std::uint64_t instructions = 0, warm_up_instructions = 0, simulated_instructions = 0;
    double cycles = 0, counted_instructions = 0;
    std::uint64_t stepped_in_software = 0, undecodable = 0;
    double unmodelled = 0;
    std::uint64_t further_tasks = 0;
    std::string traced_by;
    double tracing_ns = 0, simulating_ns = 0;
    double coverage = 0;
    std::map<std::string, double> facts;
    std::map<std::string, std::uint64_t> ended_early;  ///< windows by why they ended before their time
    std::vector<ModelWindow> each_window;
    std::vector<ModelVariation> variations;
    std::map<std::string, std::string> not_modelled;  ///< event: why
    PageKind assumed_pages = PageKind::none;
    bool splits_large_pages = false;
    std::optional<ClockCheck> clock_check;  ///< of a model of this machine
    std::optional<Sampling> sampling;       ///< of a command or process that was sampled
    std::optional<double> measured_ns;      ///< how long it took by the clock
    bool interrupted = false;
};

}  // namespace tmaprobe::record

namespace tmaprobe {

template <>
struct Names<record::KneeCause> {
    using enum record::KneeCause;
    static constexpr std::array<std::pair<record::KneeCause, std::string_view>, 4> values{
        {{unknown, ""}, {cache, "cache"}, {tlb, "tlb"}, {part_of_cache, "part_of_cache"}}};
};

template <>
struct Names<record::NoLatency> {
    using enum record::NoLatency;
    static constexpr std::array<std::pair<record::NoLatency, std::string_view>, 8> values{
        {{none, ""},
         {not_precise, "not_precise"},
         {no_permission, "no_permission"},
         {no_room, "no_room"},
         {with_intervals, "with_intervals"},
         {no_samples, "no_samples"},
         {too_few_samples, "too_few_samples"},
         {always_zero, "always_zero"}}};
};

template <>
struct Names<record::KneeKind> {
    using enum record::KneeKind;
    static constexpr std::array<std::pair<record::KneeKind, std::string_view>, 2> values{
        {{predicted, "predicted"}, {found, "found"}}};
};
template <>
struct Names<record::CurveQuantity> {
    using enum record::CurveQuantity;
    static constexpr std::array<std::pair<record::CurveQuantity, std::string_view>, 2> values{
        {{latency, "latency"}, {bandwidth, "bandwidth"}}};
};
template <>
struct Names<record::AllocationControl> {
    using enum record::AllocationControl;
    static constexpr std::array<std::pair<record::AllocationControl, std::string_view>, 2> values{
        {{l3, "l3"}, {mb, "mb"}}};
};

}  // namespace tmaprobe
