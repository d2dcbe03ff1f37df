#include "events/classification.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>
#include <vector>

#include "events/library.h"
#include "events/read_data_as.h"

namespace tmaprobe::events {

/// The rows of categories.json, thresholds.json and advice.json (events/README.md has their rules).
namespace places {

/// Where a metric of that name stands in the tree, and what it is a share of.
struct CategoryRow {
    std::string name, parent, without, category, subcategory, basis;
    int level = 0;
};

/// This project's thresholds, where a vendor gives none.
struct ThresholdRow {
    std::vector<std::string> names;
    double above = 0;
};

/// What a high value means and what to try: of the named metrics, else of a category. Most special first.
struct AdviceRow {
    std::vector<std::string> names;
    std::string category, subcategory, says, next;
    bool larger_pages = false;
};

}  // namespace places
}  // namespace tmaprobe::events

namespace tmaprobe::json {

using namespace events::places;

template <>
struct Description<CategoryRow> {
    static constexpr auto fields =
        std::make_tuple(field("name", &CategoryRow::name), optional("parent", &CategoryRow::parent),
                        optional("without", &CategoryRow::without), optional("category", &CategoryRow::category),
                        optional("subcategory", &CategoryRow::subcategory), optional("basis", &CategoryRow::basis),
                        optional("level", &CategoryRow::level));
};
template <>
struct Description<ThresholdRow> {
    static constexpr auto fields =
        std::make_tuple(field("names", &ThresholdRow::names), field("above", &ThresholdRow::above));
};
template <>
struct Description<AdviceRow> {
    static constexpr auto fields =
        std::make_tuple(optional("names", &AdviceRow::names), optional("category", &AdviceRow::category),
                        optional("subcategory", &AdviceRow::subcategory), optional("says", &AdviceRow::says),
                        optional("next", &AdviceRow::next), optional("larger_pages", &AdviceRow::larger_pages));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {
namespace {

using namespace places;
using metrics::MetricDefinition;

using Names = std::set<std::string, std::less<>>;
using Categories = std::unordered_map<std::string, std::vector<CategoryRow>>;

Result<Categories> read_categories(const Library& library) {
    auto rows = TRY(read_rows<CategoryRow>(library, "categories.json"));
    Categories categories;
    for (CategoryRow& row : rows) categories[row.name].push_back(std::move(row));
    return categories;
}

Result<std::unordered_map<std::string, double>> read_thresholds(const Library& library) {
    const auto rows = TRY(read_rows<ThresholdRow>(library, "thresholds.json"));
    std::unordered_map<std::string, double> thresholds;
    for (const ThresholdRow& row : rows)
        for (const std::string& name : row.names) thresholds.emplace(name, row.above);
    return thresholds;
}

/// First by name, then by category and subcategory, then by category alone.
void advise(MetricDefinition& metric, const std::vector<AdviceRow>& all) {
    const auto first = [&](auto&& suits) -> const AdviceRow* {
        for (const AdviceRow& advice : all)
            if (suits(advice)) return &advice;
        return nullptr;
    };
    const AdviceRow* found = first(
        [&](const AdviceRow& advice) { return std::ranges::find(advice.names, metric.name) != advice.names.end(); });
    for (const std::string& subcategory : {metric.subcategory, std::string()})
        if (!found)
            found = first([&](const AdviceRow& advice) {
                return advice.names.empty() && advice.category == metric.category && advice.subcategory == subcategory;
            });
    if (!found) return;
    metric.says = found->says;
    metric.next = found->next;
    metric.larger_pages = found->larger_pages;
}

bool fits(const CategoryRow& row, const Names& siblings) {
    return (row.parent.empty() || siblings.contains(row.parent)) &&
           (row.without.empty() || !siblings.contains(row.without));
}

/// The n of a group "TopdownL<n>" or "PipelineL<n>", else 0.
int level_of_group(std::string_view group) {
    for (const std::string_view prefix : {"TopdownL", "PipelineL"}) {
        if (!group.starts_with(prefix)) continue;
        int level = 0;
        const std::string_view digits = group.substr(prefix.size());
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
        if (problem == std::errc{} && end == digits.data() + digits.size() && level >= 1 && level <= 6) return level;
    }
    return 0;
}

void place_by_groups(MetricDefinition& metric, const Names& siblings) {
    constexpr std::string_view suffix = "_group";
    for (const std::string& group : metric.groups) {
        if (const int level = level_of_group(group)) metric.level = level;
        if (!group.ends_with(suffix)) continue;
        const std::string parent = group.substr(0, group.size() - suffix.size());
        if (siblings.contains(parent) && parent != metric.name) metric.parent = parent;
    }
    if (metric.level <= 1) metric.parent.clear();
}

}  // namespace

Result<> classify_metrics(const Library& library, Table& table) {
    const auto categories = TRY(read_categories(library));
    const auto thresholds = TRY(read_thresholds(library));
    const auto advice = TRY(read_rows<AdviceRow>(library, "advice.json"));

    std::unordered_map<std::string, Names> names;  // by PMU
    for (const MetricDefinition& metric : table.metrics) names[metric.pmu].insert(metric.name);
    for (MetricDefinition& metric : table.metrics) {
        const Names& siblings = names[metric.pmu];
        const CategoryRow* place = nullptr;
        if (const auto rows = categories.find(metric.name); rows != categories.end())
            for (const CategoryRow& row : rows->second)
                if (!place && fits(row, siblings)) place = &row;
        if (place) {
            metric.level = place->level;
            metric.parent = place->parent;
            metric.category = place->category;
            metric.subcategory = place->subcategory;
            metric.basis = place->basis;
        } else {
            place_by_groups(metric, siblings);
        }
        if (const auto own = thresholds.find(metric.name); metric.threshold.empty() && own != thresholds.end())
            metric.project_threshold = own->second;
    }
    // What no row names has its parent's category; a few rounds reach the deepest level.
    for (int round = 0; round < 6; ++round)
        for (MetricDefinition& metric : table.metrics) {
            if (!metric.category.empty() || metric.parent.empty()) continue;
            for (const MetricDefinition& parent : table.metrics)
                if (parent.name == metric.parent && parent.pmu == metric.pmu) metric.category = parent.category;
        }
    for (MetricDefinition& metric : table.metrics) {
        if (metric.category.empty()) metric.category = "other";
        advise(metric, advice);
    }
    return {};
}

}  // namespace tmaprobe::events
