#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "counters/source.h"
#include "experiments/run.h"
#include "experiments/setup.h"
#include "judge/assess.h"
#include "model/model.h"

namespace tmaprobe::experiments {

/// Which regions the model is to tell apart. Errors: bad_usage for a function that is not in its file.
Result<model::RegionWish> region_wish(const CountingRequest& request);

/// Regions with the tree of each. `assessment`: of the whole run. Warns of marks that were not as they should be.
Result<record::Regions> regions_of(const Setup& setup, const counters::RegionSamples& samples,
                                   judge::AssessRequest assessment, std::vector<record::Warning>& warnings);

/// Of two sources, the first says what marked regions cost; functions are known to the model alone.
void add_regions_of_source(record::Regions more, std::optional<record::Regions>& regions);

}  // namespace tmaprobe::experiments
