#include "report/tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/sizes.h"
#include "report/numbers.h"

namespace tmaprobe::report {
namespace {

using record::Metric;

class OrderedRows {
  public:
    explicit OrderedRows(const std::vector<Metric>& metrics) : metrics_(metrics) {
        for (const auto& metric : metrics) {
            if (metric.level <= 0) continue;
            names_.insert(metric.name);
            children_[metric.parent].push_back(&metric);
        }
    }
    std::vector<TreeRow> take() {
        for (const auto& metric : metrics_)
            if (metric.level > 0 && !names_.contains(metric.parent)) add(metric, 0);
        // What is left has parents in a circle; it is shown nevertheless.
        for (const auto& metric : metrics_)
            if (metric.level > 0) add(metric, 0);
        return std::move(rows_);
    }

  private:
    void add(const Metric& metric, int depth) {
        if (!shown_.insert(&metric).second) return;
        rows_.push_back({&metric, depth});
        const auto below = children_.find(metric.name);
        if (below == children_.end() || depth >= deepest) return;
        for (const auto* child : below->second) add(*child, depth + 1);
    }
    static constexpr int deepest = 16;
    const std::vector<Metric>& metrics_;
    std::set<std::string> names_;
    std::map<std::string, std::vector<const Metric*>> children_;
    std::set<const Metric*> shown_;
    std::vector<TreeRow> rows_;
};

}  // namespace

std::vector<TreeRow> tree_rows(const std::vector<Metric>& metrics) { return OrderedRows(metrics).take(); }

bool is_telling(const record::Metric& metric) {
    constexpr double little = 0.005;  // of slots: less than the tree can be believed to
    if (metric.level == 1 || metric.bottleneck || !metric.warnings.empty() || !has_value(metric)) return true;
    if (!is_share(metric)) return metric.value != 0 || metric.high != 0;
    return !(std::fabs(metric.value) < little && metric.high < little);
}

std::vector<TreeRow> telling_rows(const std::vector<TreeRow>& rows, std::vector<std::string>& left_out) {
    std::vector<TreeRow> telling;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        bool kept = is_telling(*rows[i].metric);
        for (std::size_t below = i + 1; !kept && below < rows.size() && rows[below].depth > rows[i].depth; ++below)
            kept = is_telling(*rows[below].metric);
        if (kept)
            telling.push_back(rows[i]);
        else
            left_out.push_back(rows[i].metric->name);
    }
    return telling;
}

std::vector<const Metric*> other_metrics(const std::vector<Metric>& metrics) {
    std::vector<const Metric*> others;
    for (const auto& metric : metrics)
        if (metric.level <= 0) others.push_back(&metric);
    std::stable_partition(others.begin(), others.end(),
                          [](const Metric* metric) { return metric->category == record::Category::tlb; });
    return others;
}

const Metric* find_metric(const record::Run& run, const std::string& name) {
    const auto found = std::ranges::find(run.metrics, name, &Metric::name);
    return found == run.metrics.end() ? nullptr : &*found;
}

bool is_bare_count(const record::Run& run, const Metric& metric) {
    const auto counts = [](const Metric& one) {
        return one.unit == record::MetricUnit::count || one.unit == record::MetricUnit::none;
    };
    return metric.category == record::Category::tlb && counts(metric) &&
           std::ranges::any_of(run.metrics, [&](const Metric& other) {
               return other.category == record::Category::tlb && !counts(other) && has_value(other);
           });
}

std::vector<TreeRow> compared_rows(const std::vector<record::Run>& runs, std::vector<std::string>* left_out) {
    std::vector<TreeRow> rows = tree_rows(runs.front().metrics);
    for (const auto* metric : other_metrics(runs.front().metrics)) rows.push_back({metric, 0});
    if (!left_out) return rows;
    std::erase_if(rows, [&](const TreeRow& row) {
        if (is_bare_count(runs.front(), *row.metric)) return true;
        const bool telling = std::ranges::any_of(runs, [&](const record::Run& run) {
            const Metric* metric = find_metric(run, row.metric->name);
            return metric && is_telling(*metric);
        });
        if (!telling) left_out->push_back(row.metric->name);
        return !telling;
    });
    return rows;
}

const Metric* bottleneck(const std::vector<Metric>& metrics) {
    const Metric* deepest = nullptr;
    for (const auto& metric : metrics)
        if (metric.bottleneck && metric.level > 0 && (!deepest || metric.level > deepest->level)) deepest = &metric;
    return deepest;
}

bool differ_in_pages_only(const std::vector<record::Run>& runs) {
    if (runs.size() < 2) return false;
    std::set<record::PageKind> modes;
    for (const auto& run : runs) {
        if (!run.pages || !modes.insert(run.pages->requested).second) return false;
        if (run.kernel != runs[0].kernel || run.variant != runs[0].variant) return false;
        auto left = run.parameters, right = runs[0].parameters;
        for (auto* parameters : {&left, &right})
            for (const char* varies : {"pages", "iterations"}) parameters->options.erase(varies);
        if (left != right) return false;
    }
    return true;
}

std::string pages_label(const record::Run& run) {
    if (!run.pages) return {};
    const auto& pages = *run.pages;
    std::uint64_t total = 0;
    for (const auto& [size, bytes] : pages.obtained_bytes) total += bytes;
    const std::string requested = text_of(pages.requested);
    const std::string wanted = pages.requested == record::PageKind::thp ? "2m" : requested;
    const auto got = pages.obtained_bytes.find(wanted);
    const std::uint64_t right = got == pages.obtained_bytes.end() ? 0 : got->second;
    if (total == 0 || right == total) return requested;
    if (right == 0) {
        std::string others;
        for (const auto& [size, bytes] : pages.obtained_bytes)
            if (bytes) others += (others.empty() ? "" : "+") + size;
        return fmt::format("{} (got {})", requested, others);
    }
    return fmt::format("{} ({:.0f}% of it)", requested, 100 * static_cast<double>(right) / static_cast<double>(total));
}

namespace {

/// "CPUs 0,1", or "all CPUs".
std::string cpus_text(const record::Run& run) {
    return run.parameters.cpus.empty() ? "all CPUs" : fmt::format("CPUs {}", fmt::join(run.parameters.cpus, ","));
}

/// An option that says whose counts they are; empty: it was not given.
std::string option_of(const record::RunParameters& parameters, const char* name) {
    const auto found = parameters.options.find(name);
    return found == parameters.options.end() ? std::string() : found->second;
}

/// What was counted where nothing was started.
std::string watched_text(const record::RunParameters& parameters, const record::Run& run) {
    const auto several = [](const std::string& what, const char* plural, const std::string& numbers) {
        return what + (numbers.find(',') == numbers.npos ? "" : plural) + " " + numbers;
    };
    if (const auto tids = option_of(parameters, "tids"); !tids.empty()) return several("thread", "s", tids);
    if (const auto groups = option_of(parameters, "cgroups"); !groups.empty())
        return several("control group", "s", groups);
    if (!parameters.pid) return "whatever runs on " + cpus_text(run);
    const auto further = option_of(parameters, "further_pids");
    return several("process", "es", std::to_string(*parameters.pid) + (further.empty() ? "" : "," + further));
}

std::string command_label(const record::RunParameters& parameters, const record::Run& run) {
    std::string line = fmt::format("{}", fmt::join(*parameters.command, " "));
    if (line.empty()) line = watched_text(parameters, run);
    return line + (parameters.pmu.empty() ? "" : ", on " + parameters.pmu);
}

}  // namespace

std::string run_label(const record::Run& run) {
    if (run.parameters.command) return command_label(run.parameters, run);
    std::string label = run.kernel;
    if (!run.variant.empty()) label += " " + run.variant;
    auto values = record::asked_values(run.parameters);
    if (!run.parameters.cpus.empty()) values["cpus"] = fmt::format("{}", fmt::join(run.parameters.cpus, ","));
    for (const auto& [name, value] : values) {
        if (name == "pages" || value.empty()) continue;
        if (name != "size_bytes")
            label += fmt::format(", {} {}", name, value);
        else if (*run.parameters.size_bytes > 0)
            label += ", size " + format_size(*run.parameters.size_bytes);
    }
    return label;
}

}  // namespace tmaprobe::report
