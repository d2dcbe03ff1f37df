#include "counters/marked_regions.h"

#include <map>
#include <set>

namespace tmaprobe::counters {
namespace {

using Counts = std::vector<process::RegionCounts>;

record::RegionTotals totals_of(const Counts& counts, std::uint32_t region, pid_t command) {
    record::RegionTotals totals;
    std::set<std::uint64_t> threads, processes;
    double inner_ns = 0;
    for (const auto& one : counts) {
        if (one.region != region) continue;
        totals.entries += one.begins;
        totals.iterations += one.iterations;
        totals.bytes += one.bytes;
        totals.time_ns += one.time_ns;
        inner_ns += one.inner_ns;
        const std::uint64_t process = one.owner >> 32;
        if (one.open && process == static_cast<std::uint64_t>(command)) totals.time_ns += one.open_ns;
        threads.insert(one.owner);
        processes.insert(process);
    }
    totals.own_ns = totals.time_ns - inner_ns;
    totals.threads = threads.size();
    totals.processes = processes.size();
    return totals;
}

std::vector<record::RegionMistake> mistakes_of(const Counts& counts, std::uint32_t region) {
    std::map<record::RegionMisuse, std::uint64_t> times;
    for (const auto& one : counts) {
        if (one.region != region) continue;
        times[record::RegionMisuse::end_without_begin] += one.wrong_ends;
        times[record::RegionMisuse::not_ended] += one.not_ended;
        times[record::RegionMisuse::open_at_the_end] += one.open;
    }
    std::vector<record::RegionMistake> mistakes;
    for (const auto& [what, how_often] : times)
        if (how_often) mistakes.push_back({what, how_often});
    return mistakes;
}

}  // namespace

record::Regions marked_regions(const process::RegionPage& page, pid_t command) {
    record::Regions regions;
    const auto names = page.names();
    const auto counts = page.counts();
    for (std::uint32_t i = 0; i < names.size(); ++i) {
        record::Region& region = regions.list.emplace_back();
        region.name = names[i];
        region.totals = totals_of(counts, i, command);
        region.mistakes = mistakes_of(counts, i);
        for (const auto& one : counts)
            if (one.region == i && one.inside && !region.inside) region.inside = one.inside - 1;
    }
    const auto left_out = page.left_out();
    regions.too_many = left_out.regions;
    regions.too_deep = left_out.depth;
    regions.no_room_for = left_out.threads;
    return regions;
}

}  // namespace tmaprobe::counters
