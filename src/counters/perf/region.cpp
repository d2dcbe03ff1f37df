#include "counters/perf/region.h"

#include <algorithm>

#include "base/statistics.h"
#include "counters/command.h"

namespace tmaprobe::counters::perf {
namespace {

constexpr int empty_pairs = 16;

class Nothing final : public Workload {
  public:
    void run(std::uint64_t) override {}
};

std::uint64_t sum_of_deltas(const CounterSet::Place& place, const std::vector<RawCount>& before,
                            const std::vector<RawCount>& after) {
    std::uint64_t sum = 0;
    for (std::size_t index = place.first; index < place.first + place.count; ++index)
        sum += after[index].value - before[index].value;
    return sum;
}

}  // namespace

Result<Region> Region::open(const Pass& pass, const std::vector<pid_t>& threads, bool user, bool kernel,
                            bool user_space_reads) {
    Target target;
    target.threads.insert(target.threads.end(), threads.begin(), threads.end());
    target.user = user;
    target.kernel = kernel;
    target.user_space_reads = user_space_reads && threads.empty();
    auto set = CounterSet::open(pass.groups, target);
    if (!set) return pass_on(set);

    Region region;
    region.set_ = std::move(*set);
    if (target.user_space_reads && region.set_.any_open()) {
        // Only counters that are running can say whether user space may read them.
        if (auto on = region.set_.enable(); !on) return pass_on(on);
        if (region.set_.reads_in_user_space())
            region.bracketing_ = Bracketing::read_twice;
        else if (auto off = region.set_.disable(); !off)
            return pass_on(off);
    }
    if (auto learnt = region.learn_overhead(); !learnt) return pass_on(learnt);
    return region;
}

Result<Region::Measured> Region::measure(Workload& workload, std::uint64_t iterations) {
    set_.read(before_, CounterSet::Order::software_first);
    std::uint64_t start = 0, end = 0;
    if (bracketing_ == Bracketing::read_twice) {
        start = now_ns();
        workload.run(iterations);
        end = now_ns();
    } else {
        if (auto on = set_.enable(); !on) return pass_on(on);
        start = now_ns();
        workload.run(iterations);
        end = now_ns();
        if (auto off = set_.disable(); !off) return pass_on(off);
    }
    set_.read(after_, CounterSet::Order::hardware_first);
    return Measured{end - start, &before_, &after_, bracketing_};
}

Result<> Region::learn_overhead() {
    if (!set_.any_open()) return {};
    Nothing nothing;
    std::vector<double> pairs;
    std::vector<std::vector<double>> counts(set_.opened().size());
    // The first pairs warm the caches and the kernel's paths.
    for (int pair = -4; pair < empty_pairs; ++pair) {
        const std::uint64_t start = now_ns();
        const auto measured = measure(nothing, 0);
        const std::uint64_t end = now_ns();
        if (!measured) return pass_on(measured);
        if (pair < 0) continue;
        pairs.push_back(static_cast<double>(end - start));
        for (std::size_t event = 0; event < counts.size(); ++event)
            counts[event].push_back(static_cast<double>(sum_of_deltas(set_.place(event), before_, after_)));
    }
    overhead_.pair_ns = median(pairs);
    for (const auto& values : counts) {
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        overhead_.counts.push_back(median(values));
        overhead_.always_the_same.push_back(*least == *most);
    }
    return {};
}

}  // namespace tmaprobe::counters::perf
