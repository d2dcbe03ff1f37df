#include "counters/perf/region.h"

#include <algorithm>

#include "base/statistics.h"
#include "counters/perf/clock_events.h"
#include "process/held_command.h"

namespace tmaprobe::counters::perf {
namespace {

constexpr int empty_pairs = 16;

class Nothing final : public Workload {
  public:
    void run(std::uint64_t) override {}
};

std::uint64_t sum_of_deltas(const Place& place, const std::vector<RawCount>& before,
                            const std::vector<RawCount>& after) {
    std::uint64_t sum = 0;
    for (std::size_t index = place.first; index < place.first + place.count; ++index)
        sum += after[index].value - before[index].value;
    return sum;
}

}  // namespace

Result<Region> Region::open(const Pass& pass, const std::vector<pid_t>& threads, bool user, bool kernel,
                            bool user_space_reads) {
    CountingTarget target;
    target.threads.insert(target.threads.end(), threads.begin(), threads.end());
    target.user = user;
    target.kernel = kernel;
    target.user_space_reads = user_space_reads && threads.empty();
    auto set = TRY(CounterSet::open(pass.groups, target));

    Region region;
    region.set_ = std::move(set);
    region.residency_ = ResidencyCounters::open(target);
    if (target.user_space_reads && region.set_.any_open()) {
        // Only counters that are running can say whether user space may read them.
        TRY(region.set_.enable());
        if (region.set_.reads_in_user_space())
            region.bracketing_ = Bracketing::read_twice;
        else if (auto off = region.set_.disable(); !off)
            return pass_on(off);
    }
    TRY(region.learn_overhead());
    return region;
}

Result<Region::Measured> Region::measure(Workload& workload, std::uint64_t iterations, std::size_t parts) {
    workload.prepare();
    counts_.resize(1 + std::max<std::size_t>(1, parts));
    if (bracketing_ == Bracketing::read_twice) return measure_running(workload, iterations);
    return measure_started(workload, iterations, std::max<std::size_t>(1, parts));
}

/// Running counters are read one after another: what interrupts that counts for the later ones alone, and a few
/// microseconds of an interrupt are seen in ratios. A reading that took much longer than usual is taken again.
void Region::read_undisturbed(std::vector<RawCount>& counts, CounterSet::Order order) {
    constexpr int most_attempts = 4;
    constexpr std::uint64_t jitter_ns = 500;  // less than an interrupt takes
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        const std::uint64_t start = process::now_ns();
        set_.read(counts, order);
        const std::uint64_t took = process::now_ns() - start;
        quickest_read_ns_ = std::min(quickest_read_ns_, took);
        if (took <= 2 * quickest_read_ns_ + jitter_ns) return;
    }
}

/// Counters run all the time; user-space reads before and after cost next to nothing.
Region::Measured Region::measure_running(Workload& workload, std::uint64_t iterations) {
    const auto enabled_before = set_.enabled_now();
    read_undisturbed(counts_[0], CounterSet::Order::software_first);
    const Instant start = now();
    workload.run(iterations);
    const Instant spent = now().since(start);
    read_undisturbed(counts_[1], CounterSet::Order::hardware_first);
    const auto enabled_after = set_.enabled_now();
    // The thread's own time, not the wall's: while it was off the CPU its counters stood still.
    const std::uint64_t enabled = enabled_before && enabled_after ? *enabled_after - *enabled_before : spent.ns;
    return {
        spent.ns, spent.ticks, {&counts_[0], &counts_[1], bracketing_, enabled, enabled_before.value_or(0)}, {}, {}};
}

Result<Region::Measured> Region::measure_started(Workload& workload, std::uint64_t iterations, std::size_t parts) {
    parts = std::min<std::size_t>(parts, std::max<std::uint64_t>(1, iterations));
    set_.read(counts_[0], CounterSet::Order::software_first);
    const Residency spent_before = residency_ ? residency_->read() : Residency{};
    TRY(set_.enable());
    if (residency_) TRY(residency_->enable());
    const Instant start = now();
    for (std::size_t part = 0; part < parts; ++part) {
        if (part) set_.read(counts_[part]);
        workload.run(iterations * (part + 1) / parts - iterations * part / parts);
    }
    const Instant spent = now().since(start);
    if (residency_) residency_->disable();
    TRY(set_.disable());
    set_.read(counts_[parts], CounterSet::Order::hardware_first);

    Measured measured{spent.ns, spent.ticks, {&counts_[0], &counts_[parts], bracketing_, spent.ns}, {}, {}};
    if (residency_) measured.residency = residency_->read() - spent_before;
    for (std::size_t part = 0; parts > 1 && part < parts; ++part)
        measured.windows.push_back({&counts_[part], &counts_[part + 1], bracketing_, 0});
    return measured;
}

Result<> Region::learn_overhead() {
    if (!set_.any_open()) return {};
    Nothing nothing;
    std::vector<double> pairs;
    std::vector<std::vector<double>> counts(set_.opened().size());
    // The first pairs warm the caches and the kernel's paths.
    for (int pair = -4; pair < empty_pairs; ++pair) {
        const std::uint64_t start = process::now_ns();
        const auto measured = measure(nothing, 0);
        const std::uint64_t end = process::now_ns();
        if (!measured) return pass_on(measured);
        if (pair < 0) continue;
        pairs.push_back(static_cast<double>(end - start));
        for (std::size_t event = 0; event < counts.size(); ++event)
            counts[event].push_back(static_cast<double>(sum_of_deltas(set_.place(event), counts_[0], counts_[1])));
    }
    overhead_.pair_ns = median(pairs);
    for (const auto& values : counts) overhead_.counts.push_back(median(values));
    return {};
}

}  // namespace tmaprobe::counters::perf
