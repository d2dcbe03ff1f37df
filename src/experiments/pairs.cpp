#include "experiments/pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/sizes.h"
#include "experiments/setup.h"
#include "experiments/timed_workload.h"
#include "experiments/workloads.h"
#include "judge/timing_warnings.h"
#include "kernels/kernel.h"
#include "timing/canary.h"
#include "timing/timing.h"

namespace tmaprobe::experiments {
namespace {

constexpr double cpi_without = 2.0;
constexpr std::array<double, 5> tried_shares{0, 0.005, 0.01, 0.015, 0.02};

/// All that was measured of one class.
struct ClassTimes {
    std::string distance;
    std::vector<double> ns;
    std::vector<double> clock_hz;
};

std::string distance_of(const machine::Topology& topology, const machine::CpuPlace& one,
                        const machine::CpuPlace& other) {
    std::string distance = name_of(machine::pair_class(topology, one.cpu, other.cpu));
    if (one.core_type.empty() || other.core_type.empty()) return distance;
    const auto types = std::minmax(one.core_type, other.core_type, std::greater<>());
    return distance + " " + types.first + "-" + types.second;
}

Result<std::vector<int>> choose_cpus(const PairsRequest& request, const machine::Topology& topology) {
    std::vector<int> cpus = request.cpus;
    if (cpus.empty()) {
        for (const auto& place : topology.cpus)
            if (place.allowed) cpus.push_back(place.cpu);
        if (cpus.size() < 2)
            return fail(
                ErrorCode::unavailable, "pairs needs two CPUs, and this process may use only one",
                "a machine, container or taskset with more CPUs; --kernel atomic alone shows what one core does");
    }
    for (const int cpu : cpus) TRY(machine::check_cpu(topology, cpu));
    std::sort(cpus.begin(), cpus.end());
    if (std::adjacent_find(cpus.begin(), cpus.end()) != cpus.end())
        return fail(ErrorCode::bad_usage, "a CPU is named twice", "name each once");
    if (cpus.size() < 2)
        return fail(ErrorCode::bad_usage, "pairs needs at least two CPUs", "write for example --cpu 0,1");
    return cpus;
}

double median_clock(const record::Run& run) {
    const auto& time = run.time;
    return time.cycles_per_op.count && time.ns_per_op.median > 0
               ? time.cycles_per_op.median / time.ns_per_op.median * 1e9
               : 0;
}

std::optional<double> known(double value) {
    return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

/// Its median, or NaN where too few repetitions were undisturbed to rest anything on it.
double judged_ns(const record::Run& run) {
    return judge::too_few_clean(run.time) ? std::numeric_limits<double>::quiet_NaN() : run.time.ns_per_op.median;
}

/// Measures a lone thread; a machine that cannot is told by the error of the first.
Result<double> measure_alone(int cpu, const std::map<std::string, std::string>& options, const MeasureOnCpus& measure,
                             record::Record& record) {
    auto run = TRY(measure({cpu}, options));
    const double ns = judged_ns(run);
    record.runs.push_back(std::move(run));
    return ns;
}

/// What was disturbed over all pairs, and how many of them are left out for it.
void add_disturbance(const record::Time& all, int left_out, std::size_t pairs, std::vector<record::Warning>& warnings) {
    if (left_out > 0)
        warnings.push_back({"too_few_undisturbed",
                            fmt::format("{} of {} pairs had fewer than {} undisturbed repetitions: they have no place "
                                        "in the matrix, and no class rests on them",
                                        left_out, pairs, record::enough_clean),
                            judge::what_to_do(all)});
    if (all.disturbed == 0) return;
    const std::string how = all.causes.empty() ? "" : ": " + record::describe(all.causes);
    warnings.push_back(
        {"disturbed",
         fmt::format("{} of {} repetitions were disturbed{}", all.disturbed, all.clean + all.disturbed, how),
         "each pair's median is over its clean ones"});
}

record::CoherencyBaseline choose_baseline(const std::vector<ClassTimes>& classes, double alone_ns) {
    for (const auto& times : classes)
        if (times.distance.rfind("smt", 0) == 0 && !times.ns.empty())
            return {"two threads of one core", median(times.ns)};
    if (alone_ns > 0) return {"one thread alone", alone_ns};
    return {};
}

std::vector<record::PairClass> summarize_classes(const std::vector<ClassTimes>& classes,
                                                 const record::CoherencyBaseline& baseline) {
    std::vector<record::PairClass> list;
    for (const auto& times : classes) {
        const Summary ns = summarize(times.ns);
        const double clock = median(times.clock_hz);
        const bool is_baseline = times.distance.rfind("smt", 0) == 0;
        const bool comparable = baseline.ns && !is_baseline && ns.count > 0;
        const double coherency = comparable ? ns.median - *baseline.ns : std::numeric_limits<double>::quiet_NaN();
        list.push_back({times.distance, ns.count, known(ns.median), known(ns.min), known(ns.max), known(coherency),
                        known(coherency * clock * 1e-9), known(clock)});
    }
    return list;
}

record::CoherencyCpi cpi_of(const std::vector<record::PairClass>& classes) {
    record::CoherencyCpi cpi{cpi_without, {tried_shares.begin(), tried_shares.end()}, {}};
    for (const auto& entry : classes) {
        if (!entry.coherency_cycles) continue;
        auto& line = cpi.by_class[entry.distance];
        for (const double share : tried_shares) line.push_back(cpi_without + share * *entry.coherency_cycles);
    }
    return cpi;
}

/// The lone thread, then one sentence per class, nearest first.
std::vector<std::string> sentences(const record::Pairs& pairs) {
    std::vector<std::string> list;
    if (const auto& alone = pairs.alone; alone && alone->locked_ns && alone->plain_ns)
        list.push_back(fmt::format("CPU {} alone: {} per increment with the lock, {} without.", alone->cpu,
                                   format_ns(*alone->locked_ns), format_ns(*alone->plain_ns)));
    for (const auto& entry : pairs.classes) {
        if (!entry.coherency_ns || !pairs.baseline.ns) continue;
        std::string text = fmt::format("{}: {} per operation, {} of it coherency", entry.distance,
                                       format_ns(entry.median_ns.value_or(0)), format_ns(*entry.coherency_ns));
        if (entry.coherency_cycles) text += fmt::format(" ({:.0f} cycles)", *entry.coherency_cycles);
        list.push_back(text + fmt::format("; baseline: {}, {}.", pairs.baseline.kind, format_ns(*pairs.baseline.ns)));
    }
    return list;
}

/// Threads on these CPUs, timed natively.
Result<record::Run> time_on_cpus(const PairsRequest& request, const machine::Host& host, const std::vector<int>& cpus,
                                 const std::map<std::string, std::string>& options) {
    const auto kernel = TRY(kernels::find(request.kernel));
    const auto variant = TRY(kernels::choose_variant(*kernel, {}, host));
    TRY(machine::pin_this_thread(cpus.front()));
    kernels::Parameters parameters;
    parameters.cpus = cpus;
    parameters.options = options;
    auto made = TRY(kernel->make(variant.name, parameters));
    KernelWorkload workload(std::move(made));
    timing::TimingRequest timing_request;
    timing_request.repetitions = request.repetitions;
    timing_request.least = 5;
    timing_request.repetition_ns = 4e6;
    timing_request.tightness = 0.02;
    timing_request.budget_ns = 80e6;
    const auto clock = counters::make_clock_source();
    const auto timing = TRY(timing::time_region(
        timed_region(*clock, workload),
        timing::watch_threads(timing::canary_bracket(host), workload.kernel().threads(), cpus), timing_request, {}));
    record::Run run;
    run.kernel = kernel->name;
    run.variant = variant.name;
    run.parameters.options = workload.kernel().parameters();
    run.parameters.options.erase("threads");  // it has a place of its own
    run.parameters.derived = kernels::derived_names(*kernel, run.parameters.options);
    run.parameters.threads = cpus.size();
    run.parameters.cpus = cpus;
    const auto work = workload.kernel().per_iteration();
    run.time = timing::summarize_timing(timing, {work.operations, work.bytes}, kernel->operation);
    return run;
}

}  // namespace

bool nearer(const std::string& one, const std::string& other) {
    const auto rank = [](const std::string& distance) {
        constexpr std::array<const char*, 5> order{"smt", "l2", "l3", "package", "two-packages"};
        for (std::size_t index = 0; index < order.size(); ++index)
            if (distance.rfind(order[index], 0) == 0) return static_cast<int>(index);
        const auto dash = distance.find('-');
        return static_cast<int>(order.size()) +
               (dash == std::string::npos ? 0 : std::atoi(distance.c_str() + dash + 1));
    };
    return std::pair(rank(one), one) < std::pair(rank(other), other);
}

Result<std::vector<Pair>> choose_pairs(const PairsRequest& request, const machine::Topology& topology) {
    const auto cpus = TRY(choose_cpus(request, topology));
    std::vector<machine::CpuPlace> places;
    for (const auto& place : topology.cpus)
        if (std::binary_search(cpus.begin(), cpus.end(), place.cpu)) places.push_back(place);
    std::vector<Pair> pairs;
    std::set<std::string> seen;
    for (std::size_t first = 0; first < places.size(); ++first)
        for (std::size_t second = first + 1; second < places.size(); ++second) {
            Pair pair{places[first].cpu, places[second].cpu, distance_of(topology, places[first], places[second])};
            if (request.one_per_class && !seen.insert(pair.distance).second) continue;
            pairs.push_back(std::move(pair));
        }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& one, const Pair& other) { return nearer(one.distance, other.distance); });
    return pairs;
}

Result<> measure_pairs(const PairsRequest& request, const std::vector<Pair>& pairs, const MeasureOnCpus& measure,
                       const PairsHooks& hooks, record::Record& record) {
    std::set<int> numbers;
    for (const Pair& pair : pairs) numbers.insert({pair.first, pair.second});
    const std::vector<int> cpus(numbers.begin(), numbers.end());
    const auto place = [&](int cpu) {
        return static_cast<std::size_t>(std::lower_bound(cpus.begin(), cpus.end(), cpu) - cpus.begin());
    };

    double locked_ns = 0;
    record::Pairs found;
    found.kernel = request.kernel;
    found.cpus = cpus;
    if (request.kernel == "atomic") {
        auto plain_options = request.options;
        plain_options["op"] = "inc";
        const auto plain = TRY(measure_alone(pairs.front().first, plain_options, measure, record));
        const auto locked = TRY(measure_alone(pairs.front().first, request.options, measure, record));
        locked_ns = locked;
        found.alone = record::Alone{pairs.front().first, known(plain), known(locked)};
    }
    found.ns.assign(cpus.size(), std::vector<std::optional<double>>(cpus.size()));
    std::vector<ClassTimes> classes;
    record::Time all;
    int left_out = 0;
    record.partial = false;
    for (std::size_t index = 0; index < pairs.size(); ++index) {
        if (hooks.interrupted && hooks.interrupted()) {
            record.partial = true;
            break;
        }
        const Pair& pair = pairs[index];
        auto run = TRY(measure({pair.first, pair.second}, request.options));
        const double ns = judged_ns(run);
        found.ns[place(pair.first)][place(pair.second)] = found.ns[place(pair.second)][place(pair.first)] = known(ns);
        all.clean += run.time.clean;
        all.disturbed += run.time.disturbed;
        all.causes = judge::merge_causes(all.causes, run.time.causes);
        left_out += !std::isfinite(ns);
        const bool first_of_class = classes.empty() || classes.back().distance != pair.distance;
        if (first_of_class) classes.push_back({pair.distance, {}, {}});
        if (std::isfinite(ns)) classes.back().ns.push_back(ns);
        if (const double clock = median_clock(run); std::isfinite(ns) && clock > 0)
            classes.back().clock_hz.push_back(clock);
        if (hooks.on_progress)
            hooks.on_progress({fmt::format("CPUs {} and {} ({})", pair.first, pair.second, pair.distance),
                               static_cast<double>(index + 1) / static_cast<double>(pairs.size()),
                               std::isfinite(ns) ? format_ns(ns) : "disturbed"});
        if (!first_of_class) continue;
        run.extra.distance = pair.distance;
        record.runs.push_back(std::move(run));
    }
    found.baseline = choose_baseline(classes, locked_ns);
    found.classes = summarize_classes(classes, found.baseline);
    found.cpi = cpi_of(found.classes);
    record.extra.comparison.clear();
    for (auto& sentence : sentences(found)) record.extra.comparison.emplace_back(std::move(sentence));
    record.extra.pairs = std::move(found);
    add_disturbance(all, left_out, pairs.size(), record.warnings);
    return {};
}

Result<record::Record> pairs(const PairsRequest& request, const machine::Host& host, const machine::Topology& topology,
                             const PairsHooks& hooks) {
    if (request.kernel != "atomic" && request.kernel != "pingpong")
        return fail(ErrorCode::bad_usage, fmt::format("pairs runs kernel atomic or pingpong, not {}", request.kernel));
    const auto chosen = TRY(choose_pairs(request, topology));
    CountingRequest counting;
    counting.source = SourceChoice::none;
    counting.library = request.library;
    const auto setup = TRY(set_up(counting, host, topology));
    record::Record record = start_record(request.command_line, setup);
    record.experiment = record::Experiment::pairs;
    const auto measure = [&](const std::vector<int>& cpus, const auto& options) {
        return time_on_cpus(request, setup.host, cpus, options);
    };
    TRY(measure_pairs(request, chosen, measure, hooks, record));
    record.source = {record::SourceKind::none, setup.host.cpu_id, "time alone: a matrix of many short measurements"};
    return record;
}

}  // namespace tmaprobe::experiments
