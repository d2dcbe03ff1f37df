#include "counters/plan.h"

namespace tmaprobe::counters {

Result<Plan> make_plan(const events::Table&, const std::vector<std::string>&, const std::vector<PlannedEvent>&,
                       const std::vector<PmuLimits>&, const metrics::Constants&, Policy) {
    return Plan{};
}

}  // namespace tmaprobe::counters
