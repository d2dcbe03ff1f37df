#include "judge/bottleneck.h"

#include <algorithm>

namespace tmaprobe::judge {

void mark_bottleneck(std::vector<record::Metric>& metrics) {
    const record::Metric* parent = nullptr;
    for (int level = 1;; ++level) {
        record::Metric* worst = nullptr;
        for (record::Metric& metric : metrics) {
            const bool under_parent =
                parent ? metric.parent == parent->name && metric.level == level : metric.level == 1;
            if (!under_parent || !metric.over_threshold.value_or(false)) continue;
            if (!worst || metric.value > worst->value) worst = &metric;
        }
        if (!worst) return;
        // Of estimates whose bounds overlap, none can be named.
        const bool undecided = std::ranges::any_of(metrics, [&](const record::Metric& metric) {
            return &metric != worst && metric.level == level && metric.parent == worst->parent &&
                   metric.status == record::Status::approximate && metric.over_threshold && metric.high > worst->low;
        });
        if (undecided) return;
        worst->bottleneck = true;
        parent = worst;
    }
}

}  // namespace tmaprobe::judge
