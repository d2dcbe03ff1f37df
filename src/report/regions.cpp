#include "report/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/sizes.h"
#include "report/markdown_html.h"
#include "report/markdown_text.h"
#include "report/numbers.h"
#include "report/text.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using record::Region;

std::size_t depth_of(const record::Regions& regions, const Region& region) {
    std::size_t depth = 0;
    // Regions that are in one another are no tree that anybody has promised.
    for (const Region* one = &region; one->inside && *one->inside < regions.list.size() && depth < regions.list.size();
         ++depth)
        one = &regions.list[*one->inside];
    return depth;
}

std::string share_text(const Region& region) {
    if (!region.cost) return "none";
    return fmt::format("{} ({:.1f}..{:.1f}%)", percent(region.cost->share), 100 * region.cost->low,
                       100 * region.cost->high);
}

std::string if_any(const std::optional<double>& value, std::string (*text)(double)) {
    return value ? text(*value) : std::string();
}

std::string count_text(double value) {
    return value < 1e5 ? fmt::format("{:.{}f}", value, value == std::floor(value) || value >= 1000 ? 0 : 1)
                       : plain_number(value);
}

void drop_empty_columns(RegionTable& rows) {
    for (std::size_t column = rows.front().size(); column-- > 1;)
        if (std::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return row[column].empty(); }))
            for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
}

const record::Metric* metric_of(const Region& region, const std::string& name) {
    const auto found = std::ranges::find(region.metrics, name, &record::Metric::name);
    return found == region.metrics.end() ? nullptr : &*found;
}

}  // namespace

RegionTable region_rows(const record::Regions& regions) {
    RegionTable rows{{"Region", "share", "time", "own", "entries", "per iteration", "rate", "instr/iteration",
                      "instr/entry", "threads"}};
    bool outside = false;
    // Where no region is in another, all time is its own.
    const bool nested = std::ranges::any_of(regions.list, [](const Region& region) {
        return region.totals && region.totals->own_ns != region.totals->time_ns;
    });
    // A run under the tracer from its start tells no time.
    const auto timed = [](const std::optional<record::RegionTotals>& totals) { return totals && totals->time_ns > 0; };
    for (const Region& region : regions.list) {
        const auto& totals = region.totals;
        const auto per_iteration = instructions_per_iteration(region);
        outside |= region.cost.has_value();
        rows.push_back({std::string(2 * depth_of(regions, region), ' ') + region.name, share_text(region),
                        timed(totals) ? format_ns(totals->time_ns) : "",
                        timed(totals) && nested ? format_ns(totals->own_ns) : "",
                        totals ? count_text(static_cast<double>(totals->entries)) : "",
                        if_any(ns_per_iteration(region), format_ns), if_any(bytes_per_second(region), format_rate),
                        if_any(per_iteration, count_text),
                        !per_iteration && region.cost ? if_any(region.cost->instructions_per_entry, count_text) : "",
                        totals && totals->threads > 1 ? std::to_string(totals->threads) : ""});
    }
    if (outside) {
        rows.push_back(std::vector<std::string>(rows.front().size()));
        rows.back()[0] = "in no region";
        rows.back()[1] = percent(std::max(0.0, regions.outside_share));
    }
    drop_empty_columns(rows);
    return rows;
}

RegionTable region_trees(const record::Regions& regions) {
    RegionTable rows{{"% of slots"}};
    std::vector<const Region*> columns;
    for (const Region& region : regions.list)
        if (!region.metrics.empty()) columns.push_back(&region);
    if (columns.empty()) return {};
    for (const Region* region : columns) rows[0].push_back(region->name);
    for (const TreeRow& entry : tree_rows(columns.front()->metrics)) {
        const std::string& name = entry.metric->name;
        const bool telling = std::ranges::any_of(columns, [&](const Region* region) {
            const auto* metric = metric_of(*region, name);
            return metric && is_telling(*metric);
        });
        if (!telling) continue;
        std::vector<std::string> row{std::string(2 * static_cast<std::size_t>(entry.depth), ' ') + name};
        for (const Region* region : columns) {
            const auto* metric = metric_of(*region, name);
            row.push_back(!metric               ? ""
                          : !has_value(*metric) ? status_words(*metric)
                                                : value_text(*metric) + " (" + bounds_text(*metric) + ")");
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<std::string> region_reasons(const record::Regions& regions) {
    std::vector<std::string> reasons;
    for (const Region& region : regions.list)
        if (!region.reason.empty()) reasons.push_back(region.name + " has no tree: " + region.reason);
    return reasons;
}

std::string regions_markdown(const record::Run& run) {
    if (!run.extra.regions) return {};
    std::string text = "### Regions\n\n";
    const auto add = [&](const RegionTable& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            std::vector<std::string> cells;
            for (const auto& cell : rows[i]) {
                const auto indent = std::min(cell.find_first_not_of(' '), cell.size());
                std::string shown;
                for (std::size_t k = 0; k < indent / 2; ++k) shown += "&emsp;";
                cells.push_back(shown + markdown_text(cell.substr(indent)));
            }
            text += i == 0 ? markdown_heading(cells) : markdown_row(cells);
        }
        if (!rows.empty()) text += "\n";
    };
    add(region_rows(*run.extra.regions));
    add(region_trees(*run.extra.regions));
    for (const auto& reason : region_reasons(*run.extra.regions)) text += "- " + markdown_text(reason) + "\n";
    return text + "\n";
}

std::string region_sections(const std::vector<record::Record>& records) {
    std::string html;
    for (const auto& record : records)
        for (const auto& run : record.runs)
            if (run.extra.regions)
                html += "<section class=\"regions\">" + markdown_html(regions_markdown(run)) + "</section>\n";
    return html;
}

}  // namespace tmaprobe::report
