#pragma once

#include "base/result.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// Holds a cost against that of a baseline. Slower: the change, or that of a region, is more than `fail_above`, and the
/// 95% intervals of both costs lie apart; faster: the same of the whole, below 0. Not judged where either cost is not
/// repeatable, or the interval is too wide to tell whether it is slower. Both are of the same target, architecture and
/// settings.
record::GateResult gate_result(const record::Gate& baseline, const record::Gate& now, double fail_above);

/// Why a cost by itself says nothing: its runs differ, it was not followed; empty: it does.
std::string why_not_repeatable(const record::Gate& gate);

/// Errors: bad_input where `baseline` holds no cost; where another version of tmaprobe made it; where it is of another
/// target than `target` (if that is not empty), or does not hold together.
Result<> check_baseline(const record::Record& baseline, const std::string& name, const std::string& version,
                        const std::string& target);

/// Errors: bad_input where costs of a baseline, which check_baseline() has passed, do not depend on `model`
/// (record::Gate::model) as those of now do.
Result<> check_model(const record::Gate& baseline, const std::string& name, const std::string& model);

}  // namespace tmaprobe::judge
