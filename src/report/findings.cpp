#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/numbers.h"
#include "report/text.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using nlohmann::json;
using record::Metric;

/// Above this share, waiting for translations is worth a try with larger pages.
constexpr double notable_walk_share = 0.05;

/// "bound by ..." for a node that has no advice in the record.
std::string plain_words(const Metric& metric) {
    if (metric.category == "frontend") return "the front end, which delivers too few operations";
    if (metric.category == "bad_speculation") return "operations that never retire";
    if (metric.category == "backend" && metric.subcategory == "memory") return "memory";
    if (metric.category == "backend" && metric.subcategory == "core") return "the core's execution, not memory";
    if (metric.category == "backend") return "the back end";
    if (metric.category == "retiring") return "useful work: most slots retire";
    return metric.name;
}

/// The node's own words, or those that the record keeps beside the metrics under "advice".
std::string advice(const record::Record& record, const Metric& metric, const char* which) {
    const std::string& own = which == std::string("says") ? metric.says : metric.next;
    if (!own.empty()) return own;
    const auto all = record.extra.find("advice");
    if (all == record.extra.end() || !all->is_object()) return {};
    for (const auto& key : {metric.name, metric.category}) {
        const auto entry = all->find(key);
        if (entry == all->end()) continue;
        if (entry->is_string()) return which == std::string("says") ? entry->get<std::string>() : "";
        if (entry->is_object() && entry->contains(which) && (*entry)[which].is_string())
            return (*entry)[which].get<std::string>();
    }
    return {};
}

/// "(modelled, 64.0..67.9%)": how far a value can be believed.
std::string belief(const Metric& metric) {
    std::string text = status_words(metric);
    if (metric.counted_share < 0.995) text += fmt::format(", counted {:.0f}% of the time", 100 * metric.counted_share);
    const std::string bounds = bounds_text(metric);
    return bounds.empty() || bounds == "unknown" ? text : text + ", " + bounds;
}

/// A sibling of the same category that is told apart from the node, such as memory beside the core.
const Metric* counterpart(const record::Run& run, const Metric& node) {
    const Metric* largest = nullptr;
    for (const auto& metric : run.metrics)
        if (&metric != &node && metric.level == node.level && metric.parent == node.parent && has_value(metric) &&
            metric.unit == node.unit && (!largest || metric.value > largest->value))
            largest = &metric;
    return largest;
}

std::string name_of(const record::Record& record, const record::Run& run) {
    if (!run.kernel.empty() && run.kernel != "command" && run.kernel != "replay") return run.kernel;
    return record.source.kind == "replay" ? "The recorded run" : "The command";
}

/// Level and node to look into: the marked node, if the table goes on below it.
Step deeper_step(const record::Record& record, const Metric& node) {
    const auto deeper = record.extra.find("deeper");
    if (deeper == record.extra.end() || !deeper->is_object()) return {};
    const auto level = deeper->find(node.name);
    if (level == deeper->end() || !level->is_number_integer()) return {};
    return {fmt::format("See what {} consists of: --level {}", node.name, level->get<int>()), {}};
}

Step pages_step(const record::Record& record, const record::Run& run) {
    if (!run.pages || run.pages->requested != "4k" || record.runs.size() > 1) return {};
    const Metric* largest = nullptr;
    for (const auto& metric : run.metrics) {
        const bool translation = metric.category == "tlb" || metric.subcategory == "tlb";
        if (translation && is_share(metric) && has_value(metric) && (!largest || metric.value > largest->value))
            largest = &metric;
    }
    if (!largest || largest->value < notable_walk_share) return {};
    return {fmt::format("Try huge pages, {} is {} of {}: --pages 4k,2m", largest->name, percent(largest->value),
                        share_of(*largest)), {}};
}

/// An event of the node's formula that can be sampled to find the code behind it.
Step sample_step(const record::Record& record, const record::Run& run, const Metric& node) {
    if (record.source.kind != "perf" || node.formula.empty()) return {};
    for (const auto& event : run.events) {
        const bool general = event.name.find("CYCLES") != std::string::npos || event.name.find("cycles") != std::string::npos ||
                             event.name.find("SLOTS") != std::string::npos || event.name.starts_with("slots") ||
                             event.name.starts_with("topdown");
        if (general || event.config.empty() || event.pmu.empty() || event.pmu == "software" || event.reading.raw == 0)
            continue;
        if (node.formula.find(event.name) == std::string::npos) continue;
        const bool typed = record.command_line.starts_with("tmaprobe ");
        return {fmt::format("Find the code behind {} by sampling {}:", node.name, event.name),
                fmt::format("perf record -e {}/config={}/ -c 200003 -- {}", event.pmu, event.config,
                            typed ? record.command_line + " --source none" : "COMMAND")};
    }
    return {};
}

}  // namespace

std::string verdict(const record::Record& record, const record::Run& run) {
    const std::string name = name_of(record, run);
    const bool any_tree = std::any_of(run.metrics.begin(), run.metrics.end(),
                                      [](const Metric& metric) { return metric.level > 0 && has_value(metric); });
    if (!any_tree)
        return record.source.kind != "none" ? "No node of the tree has a value: what bounds it is not known."
               : run.time.known             ? "Without counts only the time is known: what bounds it is not."
                                            : "No hardware event was counted: what bounds it is not known.";
    const Metric* node = bottleneck(run.metrics);
    if (!node) {
        const Metric* largest = nullptr;
        for (const auto& metric : run.metrics)
            if (metric.level == 1 && has_value(metric) && (!largest || metric.value > largest->value)) largest = &metric;
        return fmt::format("Nothing stands out: no node of the tree is above its threshold{}.",
                           largest ? fmt::format("; the largest is {} with {}", largest->name, percent(largest->value)) : "");
    }
    const std::string says = advice(record, *node, "says");
    std::string text = fmt::format("{} is bound by {}: {} takes {} of {} ({}).", name,
                                   says.empty() ? plain_words(*node) : says, node->name, percent(node->value),
                                   share_of(*node).empty() ? "its unit" : share_of(*node), belief(*node));
    if (!node->warnings.empty()) text += " That cannot be: do not rely on it.";
    const Metric* other = counterpart(run, *node);
    if (other && node->level > 1 && other->value < node->value)
        text += fmt::format(" Beside it, {} takes {}.", other->name, percent(other->value));
    return text;
}

std::vector<Step> next_steps(const record::Record& record, const record::Run& run) {
    std::vector<Step> steps;
    const auto add = [&](Step step) {
        if (!step.what.empty() && steps.size() < 3) steps.push_back(std::move(step));
    };
    add(pages_step(record, run));
    const bool pages_said = !steps.empty() || record.runs.size() > 1;
    if (const Metric* node = bottleneck(run.metrics)) {
        add(deeper_step(record, *node));
        add(sample_step(record, run, *node));
        if (const auto next = advice(record, *node, "next"); !next.empty())
            if (!pages_said || next.find("pages") == std::string::npos) add({capitalised(next), {}});
    }
    const auto why = record.extra.find("why_source");
    const bool wanted = why != record.extra.end() && why->is_string() && why->get_ref<const std::string&>().starts_with("asked for");
    // Another CPU's counters are not kept away; they are not here.
    const auto host = record.host.find("cpu_id");
    const bool of_this_cpu = record.source.target.empty() || host == record.host.end() || *host == record.source.target;
    if (!wanted && of_this_cpu && (record.source.kind == "model" || record.source.kind == "none"))
        add({"See what keeps this machine from counting: tmaprobe doctor", {}});
    return steps;
}

std::vector<std::string> sentences(const record::Record& record, const char* key) {
    std::vector<std::string> found;
    const auto entry = record.extra.find(key);
    if (entry == record.extra.end()) return found;
    const auto add = [&](const json& item) {
        if (item.is_string()) found.push_back(item.get<std::string>());
        if (!item.is_object() || !item.contains("what") || !item["what"].is_string()) return;
        std::string text = item["what"].get<std::string>();
        if (item.contains("pages") && item["pages"].is_string()) text = item["pages"].get<std::string>() + ": " + text;
        if (item.contains("status") && item["status"].is_string()) text = "[" + item["status"].get<std::string>() + "] " + text;
        found.push_back(text);
    };
    if (entry->is_array())
        for (const auto& item : *entry) add(item);
    else
        add(*entry);
    return found;
}

std::vector<std::string> comparison_sentences(const record::Record& record) {
    auto given = sentences(record, "comparison");
    if (!given.empty() || record.experiment != "run" || !differ_in_pages_only(record.runs)) return given;
    const auto& first = record.runs.front();
    for (const auto& run : record.runs) {
        if (&run == &first || !run.time.known || !first.time.known || !(first.time.ns_per_op.median > 0)) continue;
        const auto& before = first.time.ns_per_op;
        const auto& after = run.time.ns_per_op;
        const bool apart = after.high < before.low || after.low > before.high;
        const std::string modes = pages_label(run) + " against " + pages_label(first);
        if (!apart)
            given.push_back(fmt::format("{}: no difference in time beyond the noise ({}).", modes,
                                        change_text(after.median / before.median)));
        else
            given.push_back(fmt::format("{}: {} time per operation.", modes, change_text(after.median / before.median)));
    }
    return given;
}

}  // namespace tmaprobe::report
