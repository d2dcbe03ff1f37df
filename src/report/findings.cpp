#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/numbers.h"
#include "report/sampling_line.h"
#include "report/text.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using record::Metric;

/// Above this share, waiting for translations is worth a try with larger pages.
constexpr double notable_walk_share = 0.05;

/// From this share of the slots on, what mispredictions cost in all is said.
constexpr double notable_mispredictions = 0.1;

/// "bound by ..." for a node that has no advice in the record.
std::string plain_words(const Metric& metric) {
    if (metric.category == record::Category::frontend) return "the front end, which delivers too few operations";
    if (metric.category == record::Category::bad_speculation) return "operations that never retire";
    if (metric.category == record::Category::backend && metric.subcategory == "memory") return "memory";
    if (metric.category == record::Category::backend && metric.subcategory == "core")
        return "the core's execution, not memory";
    if (metric.category == record::Category::backend) return "the back end";
    if (metric.category == record::Category::retiring) return "useful work: most slots retire";
    return metric.name;
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

/// What mispredicted branches cost, in shares of all slots.
struct MispredictionCost {
    double in_all = 0;
    /// Of it, until there is something to rename again: counters have this under the front end.
    double fetching_anew = 0;
};

/// By the model's causes; nothing where counters were read, of which AMD's do not tell it.
MispredictionCost misprediction_cost(const record::Run& run) {
    if (!run.extra.model) return {};
    const auto& facts = run.extra.model->facts;
    const auto amount_of = [&](const char* fact) {
        const auto found = facts.find(fact);
        return found == facts.end() ? 0 : found->second;
    };
    const double slots = amount_of("slots"), cycles = amount_of("cycles");
    if (slots <= 0 || cycles <= 0) return {};
    // A target that only the decoder knew is fetched anew, too, and is no misprediction.
    const double anew = amount_of("slots_by_cause_resteer") / slots - amount_of("cycles_unknown_target") / cycles;
    const double speculated = amount_of("slots_by_cause_wrong_path") + amount_of("slots_by_cause_recovery");
    return {speculated / slots + anew, anew};
}

bool is_of_front_end_or_speculation(const Metric& node) {
    return node.category == record::Category::frontend || node.category == record::Category::bad_speculation;
}

/// Where a front end that is waited for mostly fetches anew: its code's size and place are not to blame.
NextStep mispredictions_step(const record::Run& run, const Metric& node) {
    const MispredictionCost cost = misprediction_cost(run);
    if (node.category != record::Category::frontend || cost.fetching_anew < node.value / 2) return {};
    return {fmt::format("Make branches predictable or branch-free: {} of slots are lost to fetching anew after "
                        "mispredictions",
                        percent(cost.fetching_anew)),
            {}};
}

std::string run_name(const record::Record& record, const record::Run& run) {
    if (!run.kernel.empty() && run.kernel != "command" && run.kernel != "replay") return run.kernel;
    return record.source.kind == record::SourceKind::replay ? "The recorded run" : "The command";
}

/// Not modelled as another CPU.
bool of_this_cpu(const record::Record& record) {
    const std::string &target = record.source.target, &host = record.host.cpu_id;
    return target.empty() || host.empty() || host == target;
}

/// Level and node to look into: the marked node, if the table goes on below it.
NextStep deeper_step(const record::Record& record, const Metric& node) {
    const auto level = record.extra.deeper.find(node.name);
    if (level == record.extra.deeper.end()) return {};
    return {fmt::format("See what {} consists of: --level {}", node.name, level->second), {}};
}

NextStep pages_step(const record::Record& record, const record::Run& run) {
    if (!run.pages || run.pages->requested != record::PageKind::size_4k || record.runs.size() > 1) return {};
    const Metric* largest = nullptr;
    for (const auto& metric : run.metrics) {
        const bool translation = metric.category == record::Category::tlb || metric.subcategory == "tlb";
        if (translation && is_share(metric) && has_value(metric) && (!largest || metric.value > largest->value))
            largest = &metric;
    }
    if (!largest || largest->value < notable_walk_share) return {};
    return {fmt::format("Try huge pages, {} is {} of {}: --pages 4k,2m", largest->name, percent(largest->value),
                        share_of(*largest)),
            {}};
}

/// What memory takes differs from machine to machine of one CPU, and the tables do not know it.
NextStep calibrate_step(const record::Record& record, const Metric& node) {
    if (record.source.kind != record::SourceKind::model || !record.source.calibrated.empty() || !of_this_cpu(record))
        return {};
    if (node.subcategory != "memory" && node.category != record::Category::tlb) return {};
    return {"Have the model take this machine's own memory latencies and cache sizes: tmaprobe calibrate", {}};
}

/// Where the code behind a node is found.
NextStep sample_step(const record::Record& record, const record::Run& run, const Metric& node) {
    if (record.source.kind != record::SourceKind::perf || node.formula.empty()) return {};
    const record::Event* event = event_to_sample(run, node);
    if (!event) return {};
    return {fmt::format("Find the code behind {} by sampling {}:", node.name, event->name),
            sampling_line(record, run, *event)};
}

}  // namespace

bool is_doubt(std::string_view flag) { return flag != "latency_from_table"; }

std::string verdict(const record::Record& record, const record::Run& run) {
    const std::string name = run_name(record, run);
    const bool any_tree = std::any_of(run.metrics.begin(), run.metrics.end(),
                                      [](const Metric& metric) { return metric.level > 0 && has_value(metric); });
    if (!any_tree)
        return record.source.kind != record::SourceKind::none
                   ? "No node of the tree has a value: what bounds it is not known."
               : run.time.known ? "Without counts only the time is known: what bounds it is not."
                                : "No hardware event was counted: what bounds it is not known.";
    const Metric* node = bottleneck(run.metrics);
    if (!node) {
        const Metric* largest = nullptr;
        for (const auto& metric : run.metrics)
            if (metric.level == 1 && has_value(metric) && (!largest || metric.value > largest->value))
                largest = &metric;
        return fmt::format(
            "Nothing stands out: no node of the tree is above its threshold{}.",
            largest ? fmt::format("; the largest is {} with {}", largest->name, percent(largest->value)) : "");
    }
    std::string text = fmt::format(
        "{} is bound by {}: {} takes {} of {} ({}).", name, node->says.empty() ? plain_words(*node) : node->says,
        node->name, percent(node->value), share_of(*node).empty() ? "its unit" : share_of(*node), belief(*node));
    if (std::ranges::any_of(node->warnings, is_doubt)) text += " That cannot be: do not rely on it.";
    const Metric* other = counterpart(run, *node);
    // Of the back end, that there is none of the other is said too: it is what one asks next.
    const bool worth_saying = other && (is_telling(*other) || node->category == record::Category::backend);
    if (worth_saying && node->level > 1 && other->value < node->value)
        text += fmt::format(" Beside it, {} takes {}.", other->name, percent(other->value));
    const MispredictionCost cost = misprediction_cost(run);
    if (is_of_front_end_or_speculation(*node) && cost.in_all >= notable_mispredictions)
        text += fmt::format(
            " Mispredicted branches cost {} of slots in all: {} as bad speculation, {} while the front end fetches "
            "anew.",
            percent(cost.in_all), percent(cost.in_all - cost.fetching_anew), percent(cost.fetching_anew));
    return text;
}

std::vector<NextStep> next_steps(const record::Record& record, const record::Run& run) {
    std::vector<NextStep> steps;
    const auto add = [&](NextStep step) {
        if (!step.what.empty() && steps.size() < 3) steps.push_back(std::move(step));
    };
    add(pages_step(record, run));
    const bool pages_said = !steps.empty() || record.runs.size() > 1;
    if (const Metric* node = bottleneck(run.metrics)) {
        add(deeper_step(record, *node));
        add(calibrate_step(record, *node));
        add(sample_step(record, run, *node));
        const NextStep branches = mispredictions_step(run, *node);
        add(branches);
        if (branches.what.empty() && !node->next.empty() && !(pages_said && node->larger_pages))
            add({capitalised(node->next), {}});
    }
    // Another CPU's counters are not kept away; they are not here.
    if (!record.extra.source_asked_for && of_this_cpu(record) &&
        (record.source.kind == record::SourceKind::model || record.source.kind == record::SourceKind::none))
        add({"See what keeps this machine from counting: tmaprobe doctor", {}});
    return steps;
}

std::vector<std::string> comparison_sentences(const record::Record& record) {
    std::vector<std::string> given;
    for (const auto& one : record.extra.comparison) {
        const auto* compared = std::get_if<record::Comparison>(&one);
        given.push_back(compared ? compared->what : std::get<std::string>(one));
    }
    if (!given.empty() || record.experiment != record::Experiment::run || !differ_in_pages_only(record.runs))
        return given;
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
            given.push_back(
                fmt::format("{}: {} time per operation.", modes, change_text(after.median / before.median)));
    }
    return given;
}

}  // namespace tmaprobe::report
