#include "counters/perf/region_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "counters/marked_regions.h"
#include "counters/perf/attributes.h"
#include "counters/perf/errors.h"
#include "machine/event_sources.h"

namespace tmaprobe::counters::perf {
namespace {

/// Of what threads count, after what only tells their time.
constexpr std::size_t first_event = 1;

using process::CountedRegions;
using process::RegionSums;

/// Whether a thread can count it for itself.
bool is_of_a_thread(const PlannedEvent& event) {
    return !is_software(event) && !is_tracepoint(event) && machine::system_wide_cpus(event.definition.pmu).empty();
}

std::vector<std::byte> bytes_of(const perf_event_attr& attributes) {
    std::vector<std::byte> bytes(sizeof attributes);
    std::memcpy(bytes.data(), &attributes, sizeof attributes);
    return bytes;
}

/// What is there whenever its thread is on a CPU, and counts nothing.
perf_event_attr clock_of_threads() {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP;
    return attributes;
}

double each(std::uint64_t sum, std::uint64_t pieces) {
    return pieces ? static_cast<double>(sum) / static_cast<double>(pieces) : 0;
}

/// The sums of a region that was met first after the earlier ones were taken are all new.
RegionSums since(const RegionSums& now, const RegionSums& before) {
    RegionSums more = now;
    more.enabled_ns -= before.enabled_ns;
    for (std::size_t event = 0; event < before.events.size(); ++event) {
        more.events[event].value -= before.events[event].value;
        more.events[event].running_ns -= before.events[event].running_ns;
    }
    return more;
}

/// Time from mark to mark, without what reading there took of it.
struct Time {
    double ns = 0, reading_ns = 0;
    double net() const { return std::max(0.0, ns - reading_ns); }
};

Time time_of(const RegionSums& sums) {
    return {static_cast<double>(sums.enabled_ns),
            each(sums.empty_ns, sums.empty_pieces) * static_cast<double>(sums.pieces)};
}
Time own_time_of(const RegionSums& sums) {
    return {static_cast<double>(sums.own_ns),
            each(sums.empty_ns, sums.empty_pieces) * static_cast<double>(sums.own_pieces)};
}

/// Of the events of that name, the one that was counted longest.
const record::Event* counted_longest(const std::vector<record::Event>& events, std::string_view name) {
    const record::Event* best = nullptr;
    for (const auto& event : events)
        if (event.name == name && event.note == record::Note::none &&
            (!best || best->reading.time_running_ns < event.reading.time_running_ns))
            best = &event;
    return best;
}

/// What all marks of the command took: their readings, and what of these lies in the pieces before and after.
double marks_ns(const CountedRegions& counted, const record::Regions& regions) {
    double all = static_cast<double>(counted.marks_ns);
    for (std::size_t i = 0; i < counted.regions.size() && i < regions.list.size(); ++i)
        all += 2 * static_cast<double>(regions.list[i].totals->entries) *
               each(counted.regions[i].empty_ns, counted.regions[i].empty_pieces);
    return all;
}

record::RegionCost cost_of(const RegionSums& sums, const std::vector<record::Event>& events,
                           const record::RegionTotals& totals, double whole_ns) {
    record::RegionCost cost;
    const Time time = time_of(sums);
    cost.share = time.net() / whole_ns;
    cost.low = std::max(0.0, time.net() - time.reading_ns) / whole_ns;
    cost.high = std::min(1.0, time.ns / whole_ns);
    cost.own_share = own_time_of(sums).net() / whole_ns;
    cost.entries_seen = totals.entries;
    if (const auto* cycles = counted_longest(events, "cycles")) cost.cycles = cycles->reading.value;
    if (const auto* instructions = counted_longest(events, "instructions")) {
        cost.instructions = instructions->reading.value;
        if (totals.entries) cost.instructions_per_entry = cost.instructions / static_cast<double>(totals.entries);
    }
    return cost;
}

}  // namespace

Result<RegionCounters> RegionCounters::create(const Pass& pass, const PassPlace& place, const CountingTarget& target,
                                              std::size_t kinds_of_cores) {
    RegionCounters made(TRY(process::RegionPage::create()));
    made.target_ = target;
    made.several_kinds_ = kinds_of_cores > 1;
    if (made.several_kinds_) return made;
    std::vector<process::CountedEvent> counted{{bytes_of(clock_of_threads()), 0}};
    bool from_user_space = target.user_space_reads;
    for (std::size_t group = 0; group < pass.groups.size(); ++group) {
        const std::size_t leader = counted.size();
        for (const PlannedEvent& event : pass.groups[group].events) {
            if (!is_of_a_thread(event) || counted.size() == process::RegionPage::most_events()) continue;
            auto attributes = make_attributes(event, target, counted.size() == leader, known_core_pmus());
            if (!attributes) continue;
            attributes->disabled = attributes->enable_on_exec = attributes->inherit = 0;
            attributes->read_format |= PERF_FORMAT_GROUP;
            counted.push_back({bytes_of(*attributes), leader});
            // Of topdown events the kernel makes counts out of what one register packs.
            from_user_space = from_user_space && !event.metric_only;
            made.events_.push_back(event);
            record::Event described = describe(event);
            described.pass = place.pass;
            described.group = place.first_group + static_cast<int>(group);
            made.described_.push_back(std::move(described));
        }
        made.groups_ += counted.size() > leader;
    }
    made.page_.count(counted, from_user_space);
    return made;
}

void RegionCounters::tick() {
    auto now = page_.counted().regions;
    last_.resize(now.size());
    spreads_.resize(now.size());
    for (std::size_t region = 0; region < now.size(); ++region) {
        const RegionSums window = since(now[region], last_[region]);
        if (window.enabled_ns > 0) add_rates(spreads_[region], counts_of(window, {}));
    }
    last_ = std::move(now);
}

std::vector<record::Event> RegionCounters::counts_of(const RegionSums& sums, const std::vector<int>& refused) const {
    auto events = described_;
    for (std::size_t i = 0; i < events.size(); ++i) {
        record::Reading& reading = events[i].reading;
        const process::EventSum& sum = sums.events[first_event + i];
        reading.raw = sum.value;
        reading.time_running_ns = sum.running_ns;
        reading.time_enabled_ns = std::max(sums.enabled_ns, reading.time_running_ns);
        const int error = first_event + i < refused.size() ? refused[first_event + i] : 0;
        if (reading.time_running_ns > 0)
            reading.value = static_cast<double>(reading.raw) * static_cast<double>(reading.time_enabled_ns) /
                            static_cast<double>(reading.time_running_ns);
        else
            events[i].note = error == EACCES || error == EPERM ? record::Note::no_permission
                             : error                           ? record::Note::not_supported
                                                               : record::Note::not_counted;
    }
    return events;
}

/// What reading counts of itself is taken off; it is known no better than to be between nothing and twice of that.
std::vector<record::Event> RegionCounters::events_of(std::size_t region, const CountedRegions& counted,
                                                     double rotation_ns) const {
    const RegionSums& sums = counted.regions[region];
    auto events = counts_of(sums, counted.refused);
    std::vector<double> reading(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
        record::Event& event = events[i];
        if (event.reading.raw == 0) continue;
        const double scale = event.reading.value / static_cast<double>(event.reading.raw);
        const auto& sum = sums.events[first_event + i];
        reading[i] = scale * each(sum.empty, sum.empty_pieces) * static_cast<double>(sum.pieces);
        event.reading.value = std::max(0.0, event.reading.value - reading[i]);
    }
    const std::vector<RateSpread> none;
    const auto& spreads = region < spreads_.size() ? spreads_[region] : none;
    std::size_t windows = 0;
    for (const RateSpread& spread : spreads) windows = std::max(windows, spread.windows());
    // In turns: that a region is left for a while is no sign of another user.
    set_bounds(events, spreads, each(sums.enabled_ns, windows), {rotation_ns, true});
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (reading[i] <= 0) continue;
        const double value = events[i].reading.value;
        // What was counted is no lower bound where some of it is the readings' own.
        events[i].low = std::max(0.0, std::min(events[i].low.value_or(value), value) - reading[i]);
        events[i].high = events[i].high.value_or(value) + reading[i];
    }
    return events;
}

/// Why a thread that has marks has no counts.
std::string RegionCounters::why_not(const CountedRegions& counted) const {
    if (several_kinds_)
        return "regions are not counted on a CPU with several kinds of cores: --source model tells them apart";
    if (events_.empty()) return "nothing is counted that a thread can count for itself";
    for (std::size_t i = first_event; i < counted.refused.size(); ++i)
        if (counted.refused[i]) return explain_open(counted.refused[i], events_[i - first_event], target_).value().what;
    return "it filters its system calls, of which the one that opens counters might be its last";
}

RegionSamples RegionCounters::finish(const RunOfRegions& run, std::vector<record::Warning>& warnings) const {
    RegionSamples samples{marked_regions(page_, run.command), {}};
    record::Regions& regions = samples.known;
    const CountedRegions counted = page_.counted();
    const double marks = marks_ns(counted, regions);
    double own_ns = 0;
    for (const RegionSums& sums : counted.regions) own_ns += own_time_of(sums).net();
    const double whole_ns = std::max({1.0, own_ns, run.processor_ns - marks});
    regions.outside_share = 1;
    for (std::size_t i = 0; i < regions.list.size(); ++i) {
        record::Region& region = regions.list[i];
        RegionEvents& events = samples.events.emplace_back();
        if (i >= counted.regions.size() || counted.regions[i].pieces == 0) {
            region.reason = counted.threads == 0 ? why_not(counted) : "no thread that counted was in it";
            continue;
        }
        events.events = events_of(i, counted, run.rotation_ns);
        region.cost = cost_of(counted.regions[i], events.events, *region.totals, whole_ns);
        regions.outside_share -= region.cost->own_share;
    }
    const auto warn = [&](std::string what, std::string hint) {
        warnings.push_back({"region_counts", std::move(what), std::move(hint)});
    };
    if (counted.threads && counted.threads_refused)
        warn(fmt::format("{} of {} threads with marks could not count: {}", counted.threads_refused,
                         counted.threads + counted.threads_refused, why_not(counted)),
             "regions' counts lack what these did");
    if (const auto lost = counted.failed + counted.unread + counted.left_out)
        warn(fmt::format("{} marks read no counters{}: regions' counts lack what was there", lost,
                         counted.failed   ? ", as the program closes all its files or somebody else has the counters"
                         : counted.unread ? ", as their signals came in the middle of other marks"
                                          : ": there is room for 4096 regions of threads"),
             "");
    constexpr double worth_saying = 0.1;
    if (run.processor_ns > 0 && marks > worth_saying * run.processor_ns)
        warn(
            fmt::format("reading counters at marks took {:.0f}% of the command's processor time, which the tree of the "
                        "whole has, and those of regions have not",
                        100 * std::min(1.0, marks / run.processor_ns)),
            "marks around more work at a time; fewer metrics; --no-regions for the whole alone");
    return samples;
}

}  // namespace tmaprobe::counters::perf
