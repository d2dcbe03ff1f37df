#pragma once

#include "model/gate.h"

namespace tmaprobe::model {

/// As cost_of(), in a build that has a model.
Result<ProgramCost> simulate_cost(const std::vector<std::string>& command, const CostQuestion& question);

}  // namespace tmaprobe::model
