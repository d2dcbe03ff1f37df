#include "events/hybrid.h"
#include "events/library.h"
#include "events/schema.h"
#include "events/table.h"

namespace tmaprobe::events {

Result<bool> use_formulas_without_perf_metrics(const Library& library, Table& table) {
    const std::string path = table.folder + "/without-perf-metrics/metrics.json";
    auto text = TRY(read_if_there(library, path));
    if (!text) return false;
    Table others;
    others.format = table.format;
    if (const auto read = read_table_file({label_of(library, path), std::move(*text)}, {}, others); !read)
        return pass_on(read);
    bool replaced = false;
    for (const auto& other : others.metrics)
        for (auto& metric : table.metrics) {
            if (metric.name != other.name || metric.pmu != other.pmu) continue;
            metric.expression = other.pmu.empty() ? other.expression : with_pmu(other.expression, other.pmu, table);
            replaced = true;
        }
    return replaced;
}

}  // namespace tmaprobe::events
