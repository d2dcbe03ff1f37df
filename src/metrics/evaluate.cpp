#include "metrics/evaluate.h"

namespace tmaprobe::metrics {

Result<std::vector<MetricValue>> evaluate(const std::vector<MetricDefinition>&, const std::vector<std::string>&,
                                          const Counts&, const Constants&) {
    return std::vector<MetricValue>{};
}

Result<std::vector<std::string>> events_needed(const std::vector<MetricDefinition>&, const std::vector<std::string>&,
                                               const Constants&) {
    return std::vector<std::string>{};
}

}  // namespace tmaprobe::metrics
