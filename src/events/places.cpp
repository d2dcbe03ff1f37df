#include "events/places.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <vector>

#include "events/json_text.h"
#include "events/library.h"

namespace tmaprobe::events {
namespace {

using metrics::MetricDefinition;
using nlohmann::json;

struct CategoryRow {
    std::string parent, without, category, subcategory, basis;
    int level = 0;
};

using Names = std::set<std::string, std::less<>>;

Result<json> read_array(const Library& library, const char* name) {
    const auto text = read_data(library, name);
    if (!text) return pass_on(text);
    auto parsed = parse_json(label_of(library, name), *text);
    if (parsed && !parsed->is_array())
        return fail(ErrorCode::bad_input, fmt::format("{}:1:1: not an array", label_of(library, name)));
    return parsed;
}

Result<std::unordered_map<std::string, std::vector<CategoryRow>>> read_categories(const Library& library) {
    const auto rows = read_array(library, "categories.json");
    if (!rows) return pass_on(rows);
    std::unordered_map<std::string, std::vector<CategoryRow>> categories;
    try {
        for (const json& row : *rows) {
            CategoryRow read;
            read.parent = row.value("parent", "");
            read.without = row.value("without", "");
            read.category = row.value("category", "");
            read.subcategory = row.value("subcategory", "");
            read.basis = row.value("basis", "");
            read.level = row.value("level", 0);
            categories[row.at("name").get<std::string>()].push_back(std::move(read));
        }
    } catch (const json::exception& error) {
        return fail(ErrorCode::bad_input, fmt::format("{}: {}", label_of(library, "categories.json"), error.what()));
    }
    return categories;
}

Result<std::unordered_map<std::string, double>> read_thresholds(const Library& library) {
    const auto rows = read_array(library, "thresholds.json");
    if (!rows) return pass_on(rows);
    std::unordered_map<std::string, double> thresholds;
    try {
        for (const json& row : *rows)
            for (const json& name : row.at("names"))
                thresholds.emplace(name.get<std::string>(), row.at("above").get<double>());
    } catch (const json::exception& error) {
        return fail(ErrorCode::bad_input, fmt::format("{}: {}", label_of(library, "thresholds.json"), error.what()));
    }
    return thresholds;
}

/// Rows of advice.json, most special first as the file has them.
struct Advice {
    std::set<std::string, std::less<>> names;
    std::string category, subcategory, says, next;
};

Result<std::vector<Advice>> read_advice(const Library& library) {
    const auto rows = read_array(library, "advice.json");
    if (!rows) return pass_on(rows);
    std::vector<Advice> all;
    try {
        for (const json& row : *rows) {
            Advice advice;
            if (row.contains("names"))
                for (const json& name : row.at("names")) advice.names.insert(name.get<std::string>());
            advice.category = row.value("category", "");
            advice.subcategory = row.value("subcategory", "");
            advice.says = row.value("says", "");
            advice.next = row.value("next", "");
            all.push_back(std::move(advice));
        }
    } catch (const json::exception& error) {
        return fail(ErrorCode::bad_input, fmt::format("{}: {}", label_of(library, "advice.json"), error.what()));
    }
    return all;
}

/// First by name, then by category and subcategory, then by category alone.
void advise(MetricDefinition& metric, const std::vector<Advice>& all) {
    const auto first = [&](auto&& suits) -> const Advice* {
        for (const Advice& advice : all)
            if (suits(advice)) return &advice;
        return nullptr;
    };
    const Advice* found = first([&](const Advice& advice) { return advice.names.contains(metric.name); });
    for (const std::string& subcategory : {metric.subcategory, std::string()})
        if (!found)
            found = first([&](const Advice& advice) {
                return advice.names.empty() && advice.category == metric.category && advice.subcategory == subcategory;
            });
    if (!found) return;
    metric.says = found->says;
    metric.next = found->next;
}

bool fits(const CategoryRow& row, const Names& siblings) {
    return (row.parent.empty() || siblings.contains(row.parent)) && (row.without.empty() || !siblings.contains(row.without));
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

Result<> place_metrics(const Library& library, Table& table) {
    const auto categories = read_categories(library);
    if (!categories) return pass_on(categories);
    const auto thresholds = read_thresholds(library);
    if (!thresholds) return pass_on(thresholds);
    const auto advice = read_advice(library);
    if (!advice) return pass_on(advice);

    std::unordered_map<std::string, Names> names;  // by PMU
    for (const MetricDefinition& metric : table.metrics) names[metric.pmu].insert(metric.name);
    for (MetricDefinition& metric : table.metrics) {
        const Names& siblings = names[metric.pmu];
        const CategoryRow* place = nullptr;
        if (const auto rows = categories->find(metric.name); rows != categories->end())
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
        if (const auto own = thresholds->find(metric.name); metric.threshold.empty() && own != thresholds->end())
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
        advise(metric, *advice);
    }
    return {};
}

}  // namespace tmaprobe::events
