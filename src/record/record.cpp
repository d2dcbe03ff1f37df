#include "record/record.h"

#include <cmath>

namespace tmaprobe::record {

bool has_value(const Metric& metric) { return has_value(metric.status) && std::isfinite(metric.value); }

PageKind modelled_pages_apart(const Run& run) {
    if (!run.pages || run.pages->effective == PageKind::none) return PageKind::none;
    PageKind taken = run.pages->requested;
    if (run.extra.model && run.extra.model->assumed_pages != PageKind::none) taken = run.extra.model->assumed_pages;
    return taken == run.pages->effective ? PageKind::none : taken;
}

std::map<std::string, std::string> single_values(const RunParameters& parameters) {
    auto values = parameters.options;
    if (parameters.size_bytes) values["size_bytes"] = std::to_string(*parameters.size_bytes);
    if (parameters.threads) values["threads"] = std::to_string(*parameters.threads);
    if (parameters.pid) values["pid"] = std::to_string(*parameters.pid);
    if (!parameters.pmu.empty()) values["pmu"] = parameters.pmu;
    return values;
}

bool has_own_tree(const Record& record) {
    return record.extra.table && record.extra.table->tree == TreeOwner::tmaprobe;
}

}  // namespace tmaprobe::record
