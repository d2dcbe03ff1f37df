#include "experiments/clock_readings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.h"
#include "experiments/timed_workload.h"
#include "experiments/workloads.h"
#include "timing/canary.h"

namespace tmaprobe::experiments {
namespace {

constexpr std::int64_t fewest_clean = 3;
/// Readings that differ by more are of no one figure; with disturbed ones among them, already those that differ by
/// less: what disturbed them was then no part of the loop's time.
constexpr double widest_spread = 0.25, widest_disturbed_spread = 0.1;

/// Why a fact is of no one figure, or empty.
std::string reason_against(const record::CalibratedFact& fact) {
    if (fact.low <= 0) return "it is not told from what surrounds it";
    const bool enough = fact.clean >= fewest_clean;
    const double spread = (fact.high - fact.low) / fact.value;
    if (spread <= (enough ? widest_spread : widest_disturbed_spread)) return {};
    if (enough) return fmt::format("the readings differ by {:.0f}%", 100 * spread);
    return fmt::format("only {} of {} readings were undisturbed, and they differ by {:.0f}%", fact.clean,
                       fact.clean + fact.disturbed, 100 * spread);
}

}  // namespace

double cycles(double step_ns, double clock_hz) { return step_ns * clock_hz * 1e-9; }
double per_cycle(double step_ns, double clock_hz) { return 1 / cycles(step_ns, clock_hz); }
double nanoseconds(double step_ns, double) { return step_ns; }
double per_second(double step_ns, double) { return 1e9 / step_ns; }

record::CalibratedFact fact_of(const std::string& name, const std::string& unit, const Readings& readings) {
    record::CalibratedFact fact;
    fact.name = name;
    fact.unit = unit;
    fact.clean = static_cast<std::int64_t>(readings.clean.size());
    fact.disturbed = static_cast<std::int64_t>(readings.disturbed.size());
    std::vector<double> values = readings.clean;
    if (fact.clean < fewest_clean) values.insert(values.end(), readings.disturbed.begin(), readings.disturbed.end());
    if (values.empty()) return fact;
    // An interrupt that no look at the CPU saw is one reading of many.
    std::ranges::sort(values);
    const std::size_t outliers = values.size() / 8;
    fact.value = median(values);
    fact.low = values[outliers];
    fact.high = values[values.size() - 1 - outliers];
    fact.reason = reason_against(fact);
    return fact;
}

record::CalibratedFact difference(const std::string& name, const record::CalibratedFact& more,
                                  const record::CalibratedFact& less, double share, double times) {
    record::CalibratedFact fact = more;
    fact.name = name;
    fact.value = (more.value - share * less.value) * times;
    fact.low = (more.low - share * less.high) * times;
    fact.high = (more.high - share * less.low) * times;
    fact.clean = std::min(more.clean, less.clean);
    fact.disturbed = std::max(more.disturbed, less.disturbed);
    fact.reason = reason_against(fact);
    return fact;
}

void add_reading(double reading, record::CalibratedFact& fact) {
    constexpr std::size_t latest = 5;
    fact.readings.push_back(reading);
    if (fact.readings.size() > latest) fact.readings.erase(fact.readings.begin());
    fact.value = median(fact.readings);
    fact.low = std::ranges::min(fact.readings);
    fact.high = std::ranges::max(fact.readings);
    fact.clean = static_cast<std::int64_t>(fact.readings.size());
}

ClockReader::ClockReader(const CalibrateRequest& request, const machine::Host& host)
    : request_(request), host_(host), bracket_(timing::canary_bracket(host)) {}

Result<Readings> ClockReader::read(counters::Workload& workload, double steps, Convert convert) {
    if (request_.interrupted && request_.interrupted())
        return fail(ErrorCode::interrupted, "interrupted: nothing is written");
    timing::TimingRequest timing_request;
    timing_request.most = 15;
    timing_request.tightness = 0.01;
    timing_request.repetition_ns = 2e6;
    timing_request.budget_ns = 60e6;
    timing_request.patience = 20;
    const auto clock = counters::make_clock_source();
    const auto timing = TRY(timing::time_region(timed_region(*clock, workload), bracket_, timing_request, {}));
    Readings readings;
    for (const auto& repetition : timing.repetitions) {
        const double hz = repetition.conditions.clock_hz;
        if (!(hz > 0)) continue;
        const bool clean = repetition.conditions.clean();
        const double thread_ns = repetition.thread_ns_per_iteration;
        const double ns = !clean && thread_ns > 0 ? thread_ns : repetition.ns_per_iteration;
        (clean ? readings.clean : readings.disturbed).push_back(convert(ns / steps, hz));
        clock_hz.push_back(hz);
    }
    return readings;
}

Result<record::CalibratedFact> ClockReader::chase(const std::string& name, const char* order, std::uint64_t bytes,
                                                  const memory::PageMode& pages, const char* unit, Convert convert,
                                                  int chains) {
    kernels::Parameters parameters;
    parameters.size_bytes = bytes;
    parameters.pages = pages;
    parameters.options["order"] = order;
    parameters.options["chains"] = std::to_string(chains);
    return time_kernel(name, "chase", parameters, unit, convert, 0);
}

Result<record::CalibratedFact> ClockReader::stream(const std::string& name, std::uint64_t bytes,
                                                   const memory::PageMode& pages, const char* unit, Convert convert,
                                                   double bytes_per_step) {
    kernels::Parameters parameters;
    parameters.size_bytes = bytes;
    parameters.pages = pages;
    return time_kernel(name, "stream", parameters, unit, convert, bytes_per_step);
}

/// `bytes_per_step` 0: a step is an operation of the kernel.
Result<record::CalibratedFact> ClockReader::time_kernel(const std::string& name, const char* kernel,
                                                        const kernels::Parameters& parameters, const char* unit,
                                                        Convert convert, double bytes_per_step) {
    const auto known = TRY(kernels::find(kernel));
    const auto variant = TRY(kernels::choose_variant(*known, {}, host_, parameters));
    KernelWorkload workload(TRY(known->make(variant.name, parameters)));
    const auto work = workload.kernel().per_iteration();
    const double steps = bytes_per_step > 0 ? work.bytes / bytes_per_step : work.operations;
    return fact_of(name, unit, TRY(read(workload, steps, convert)));
}

void ClockReader::add(record::CalibratedFact fact) {
    if (fact.clean + fact.disturbed == 0) return;
    if (fact.value > 0)
        facts.push_back(std::move(fact));
    else
        left_out.push_back(fact.name + ": it is not told from what surrounds it");
}

}  // namespace tmaprobe::experiments
