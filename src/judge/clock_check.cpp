#include "judge/clock_check.h"

#include <fmt/format.h>

namespace tmaprobe::judge {

std::optional<record::Warning> judge_clock(const events::ClockLimits& limits, record::ClockCheck& check) {
    using record::ClockVerdict;
    check.verdict = ClockVerdict::not_judged;
    if (check.windows < limits.windows || check.ratio <= 0) return std::nullopt;
    const bool within = check.ratio <= limits.ratio && check.ratio * limits.ratio >= 1;
    check.verdict = within ? ClockVerdict::agrees : ClockVerdict::doubtful;
    if (within) return std::nullopt;
    const bool slow = check.ratio > 1;
    return record::Warning{
        "model_doubtful",
        fmt::format("the model is doubtful here: by the clock the same instructions are {:.1f} times as {} (limit "
                    "{:.2g}), and where the model puts slots may be wrong by as much",
                    slow ? check.ratio : 1 / check.ratio, slow ? "fast" : "slow", limits.ratio),
        slow ? "something of the core or the predictor that hides time here is not modelled; docs/model.md has what is "
               "known to be wrong"
             : "memory that others use, or a limit of the core that is not modelled, takes time here: after tmaprobe "
               "calibrate the model has this machine's latencies and sizes; docs/model.md has what is known to be "
               "wrong"};
}

std::optional<record::Warning> judge_kernel_clock(const events::ClockLimits& limits, const record::Time& time,
                                                  record::ModelDetail& model) {
    record::ClockCheck& check = *model.clock_check;
    if (!time.known || time.cycles_per_op.median <= 0 || model.counted_instructions <= 0) return std::nullopt;
    const double cycles = model.cycles / model.counted_instructions * check.instructions;
    check.measured_ns = time.ns_per_op.median;
    check.clock_hz = time.cycles_per_op.median / time.ns_per_op.median * 1e9;
    check.modelled_ns = cycles / check.clock_hz * 1e9;
    check.ratio = check.modelled_ns / check.measured_ns;
    constexpr int clean_enough = 3;
    return time.clean < clean_enough ? std::nullopt : judge_clock(limits, check);
}

}  // namespace tmaprobe::judge
