#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiments/measure.h"
#include "experiments/run.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// A kernel over sizes and page modes.
struct SweepRequest {
    RunRequest run;                    ///< kernel, variant, page modes, options, source, ...; its size is not used
    std::vector<std::uint64_t> sizes;  ///< ascending, each once
    double seconds_per_point = 0.4;    ///< of timing, after a few repetitions
};

/// Sizes of one sweep at the most.
inline constexpr int most_points = 1000;

/// Reads "16K..256M" or "16K,24K,1M". A range gives `points` sizes spread evenly over the logarithm and
/// rounded to 64 bytes (to 4 KiB from 64K on); 0 points: all 2^k and 1.5 x 2^k in it and both ends.
/// Errors: bad_usage.
Result<std::vector<std::uint64_t>> sweep_sizes(const std::string& text, int points);

/// What the command line does while a sweep runs. All may be empty.
struct SweepHooks {
    OnProgress on_progress;
    std::function<bool()> interrupted;                ///< asked between points
    std::function<void(const record::Record&)> save;  ///< after each point, with the record marked partial
};

/// Measures one point; a sweep's only way to touch the machine.
using MeasurePoint = std::function<Result<MeasuredRun>(const KernelRun&, const OnProgress&)>;

/// Measures all points that `record` does not hold yet, the largest size first (what cannot be had is
/// refused before time is spent), then in the order of spread_order, which shows the whole curve early and takes no
/// slow change of the machine for one of the curve; page modes in turn, and those that came out disturbed once more. A
/// point that fails later stays in the record without a time, with the reason. Interrupted, the record is marked
/// partial. Errors: those of the first point of a mode.
Result<> measure_points(const SweepRequest& request, const KernelRun& point, const MeasurePoint& measure,
                        const SweepHooks& hooks, record::Record& record);

/// The whole experiment. A chase of one thread through the last-level cache's size also gets that cache's
/// effective share: extra["cache_share"] and a sentence. `resumed`: a partial record of the same request; its points
/// are kept. Errors: those of set_up, choose_point and measure_points.
Result<record::Record> sweep(const SweepRequest& request, const machine::Host& host, const machine::Topology& topology,
                             const SweepHooks& hooks, const record::Record* resumed = nullptr);

/// The request as the record keeps it, so that the sweep can go on from it.
record::SweepPlan plan_of(const SweepRequest& request);

/// The request that a sweep's record came from, to go on with it. Errors: bad_input for another kind of
/// record or one without its request; bad_usage for another CPU than this host's.
Result<SweepRequest> resume_request(const record::Record& record, const machine::Host& host);

}  // namespace tmaprobe::experiments
