#include "experiments/bottleneck.h"

namespace tmaprobe::experiments {

void mark_bottleneck(std::vector<record::Metric>& metrics) {
    const record::Metric* parent = nullptr;
    for (int level = 1;; ++level) {
        record::Metric* worst = nullptr;
        for (record::Metric& metric : metrics) {
            const bool under_parent = parent ? metric.parent == parent->name && metric.level == level : metric.level == 1;
            if (!under_parent || !metric.over_threshold.value_or(false)) continue;
            if (!worst || metric.value > worst->value) worst = &metric;
        }
        if (!worst) return;
        worst->bottleneck = true;
        parent = worst;
    }
}

}  // namespace tmaprobe::experiments
