#include "events/model_tree.h"

#include <algorithm>
#include <tuple>

#include "events/classification.h"
#include "events/library.h"
#include "events/schema.h"

namespace tmaprobe::events {
bool has_tree(const Table& table) {
    return std::ranges::any_of(table.metrics,
                               [](const auto& metric) { return metric.level > 0 && !metric.approximate; });
}

bool has_estimated_tree(const Table& table) {
    return std::ranges::any_of(table.metrics,
                               [](const auto& metric) { return metric.level > 0 && metric.approximate; });
}

bool has_model_tree(const Table& table) {
    return std::ranges::any_of(table.events, [](const EventDefinition& event) { return event.pmu == model_pmu; });
}

Result<> add_model_tree(const Library& library, Table& table) {
    constexpr const char* path = "model-tree.json";
    auto text = TRY(read_data(library, path));
    remove_own_estimates(table);
    if (const auto read = read_table_file({label_of(library, path), std::move(text)}, {}, table); !read) return read;
    if (const auto placed = classify_metrics(library, table); !placed) return placed;
    const auto name_and_pmu = [](const EventDefinition& event) {
        return std::tuple(lower_case(event.name), event.pmu);
    };
    std::ranges::stable_sort(table.events, {}, name_and_pmu);
    return {};
}

void remove_own_estimates(Table& table) {
    if (std::ranges::none_of(table.metrics, &metrics::MetricDefinition::approximate)) return;
    std::erase_if(table.metrics, [](const auto& metric) { return metric.approximate || metric.below_tree; });
}

std::vector<std::string> below_model_tree(const Table& table) {
    std::vector<std::string> names, translation;
    if (!has_model_tree(table)) return names;
    for (const auto& metric : table.metrics) {
        if (metric.below_tree)
            names.push_back(metric.name);
        else if (metric.category == "tlb")
            translation.push_back(metric.name);
    }
    names.insert(names.end(), translation.begin(), translation.end());
    return names;
}

}  // namespace tmaprobe::events
