#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_dump.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "events/core_data.h"
#include "events/table.h"
#include "kernels/kernel.h"
#include "machine/host.h"
#include "metrics/evaluate.h"

namespace tmaprobe::cli {
namespace {

using nlohmann::json;

struct Words {
    std::string target, events_directory, json, category;
    std::vector<std::string> filters;
    int level = 0;
    bool formula = false;
};

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// Every filter word occurs somewhere in the texts, whatever its case.
bool wanted(const Words& words, const std::string& texts) {
    const std::string all = lower(texts);
    return std::ranges::all_of(words.filters, [&](const std::string& word) { return all.find(lower(word)) != all.npos; });
}

int deliver(const Words& words, const json& rows, const std::string& text, const std::string& nothing) {
    if (!words.json.empty()) {
        const std::string content = dump_indented(rows);
        if (words.json == "-") return print(content);
        const auto written = write_file(words.json, content);
        return written ? 0 : complain(written.error());
    }
    if (text.empty()) {
        say("tmaprobe: " + nothing + "\n");
        return 0;
    }
    return print(text);
}

Result<events::Table> load_table(const Words& words) {
    if (!words.target.empty()) return events::load(event_library(words.events_directory), words.target);
    const auto host = machine::detect();
    auto table = events::load(event_library(words.events_directory), host.cpu_id);
    if (!table) table.error().hint = "--target CPU names another one; tmaprobe list targets shows them all";
    return table;
}

/// Whose core the model takes for a target's; "not modelled" where there is no data.
json model_of(const events::Library& library, const std::string& folder) {
    const auto core = events::read_core_model(library, folder);
    if (!core) return nullptr;
    return {{"core", core->llvm_cpu}, {"borrowed", core->borrowed_model}};
}

std::string model_text(const json& model) {
    if (model.is_null()) return "not modelled";
    const std::string borrowed = model["borrowed"].get<std::string>();
    return fmt::format("modelled as {}{}", model["core"].get<std::string>(), borrowed.empty() ? "" : ": " + borrowed);
}

int list_targets(const Words& words) {
    const events::Library library = event_library(words.events_directory);
    const auto targets = events::known_targets(library);
    if (!targets) return complain(targets.error());
    json rows = json::array();
    std::string text;
    for (const auto& target : *targets) {
        const std::string patterns = fmt::format("{}", fmt::join(target.patterns, " "));
        const std::string names = fmt::format("{}", fmt::join(target.names, " "));
        if (!wanted(words, fmt::format("{} {} {} {}", target.folder, target.title, names, patterns))) continue;
        json model = model_of(library, target.folder);
        text += fmt::format("{:<16} {:<42} {}{}{}\n{:<16} {}\n", target.folder, target.title, patterns,
                            names.empty() ? "" : "  also: ", names, "", model_text(model));
        rows.push_back({{"folder", target.folder}, {"title", target.title}, {"names", target.names},
                        {"cpu_ids", target.patterns}, {"version", target.version}, {"model", std::move(model)}});
    }
    return deliver(words, rows, text, "no target matches");
}

/// What the metric's row shows: place in the tree, or what else it is.
std::string place_of(const metrics::MetricDefinition& metric) {
    return metric.level > 0 ? fmt::format("L{} {}", metric.level, metric.category) : metric.category;
}

/// Why a metric has no value on any machine of this CPU; empty: it can have one. `siblings`: the metrics
/// of its PMU, which its formula may name.
std::string why_never(const events::Table& table, const std::vector<metrics::MetricDefinition>& siblings,
                      const std::string& metric, const metrics::Constants& constants) {
    const auto needed = metrics::events_needed(siblings, {metric}, constants);
    if (!needed) return needed.error().what;
    for (const std::string& spelling : *needed) {
        const auto event = events::resolve(table, spelling);
        if (event && event->is_latency() && !event->retire_latency)
            return fmt::format("its vendor has not published the latency at retirement that {} stands for", spelling);
    }
    return {};
}

int list_metrics(const Words& words) {
    const auto table = load_table(words);
    if (!table) return complain(table.error());
    metrics::Constants constants;
    constants.has_event = [&](std::string_view name) { return events::resolve(*table, name).has_value(); };
    std::map<std::string, std::vector<metrics::MetricDefinition>> of_pmu;
    for (const auto& metric : table->metrics) of_pmu[metric.pmu].push_back(metric);
    json rows = json::array();
    std::string text;
    for (const auto& metric : table->metrics) {
        if (words.level > 0 && (metric.level == 0 || metric.level > words.level)) continue;
        if (!words.category.empty() && metric.category != words.category) continue;
        if (!wanted(words, metric.name + " " + metric.description + " " + metric.pmu)) continue;
        const std::string never = why_never(*table, of_pmu[metric.pmu], metric.name, constants);
        rows.push_back({{"name", metric.name}, {"pmu", metric.pmu}, {"level", metric.level}, {"parent", metric.parent},
                        {"category", metric.category}, {"subcategory", metric.subcategory}, {"unit", metric.scale_unit},
                        {"formula", metric.expression}, {"threshold", metric.threshold}, {"groups", metric.groups},
                        {"description", metric.description}});
        if (!never.empty()) rows.back()["unavailable"] = never;
        text += fmt::format("{:<42} {:<20} {}\n", metric.name + (metric.pmu.empty() ? "" : " (" + metric.pmu + ")"),
                            place_of(metric), metric.description);
        if (!never.empty()) text += fmt::format("    unavailable: {}\n", never);
        if (!words.formula) continue;
        text += fmt::format("    = {}\n", metric.expression);
        if (!metric.threshold.empty()) text += fmt::format("    flagged if {}\n", metric.threshold);
        if (metric.project_threshold) text += fmt::format("    flagged above {} (this project's threshold)\n", *metric.project_threshold);
    }
    return deliver(words, rows, text, "no metric matches");
}

/// The one event that a filter spells out instead of matching: an encoding, or libpfm4's name of it.
Result<events::EventDefinition> spelt(const Words& words, const events::Table& table) {
    if (words.filters.size() != 1) return fail(ErrorCode::bad_usage, "no event matches");
    return events::resolve(table, words.filters.front());
}

int list_events(const Words& words) {
    const auto table = load_table(words);
    if (!table) return complain(table.error());
    json rows = json::array();
    std::string text;
    const auto add = [&](const events::EventDefinition& event) {
        const std::string pmu = event.pmu.empty() ? "cpu" : event.pmu;
        rows.push_back({{"name", event.name}, {"pmu", pmu},
                        {"config", fmt::format("{:#x}", event.config)}, {"config1", fmt::format("{:#x}", event.config1)},
                        {"config2", fmt::format("{:#x}", event.config2)}, {"counters", event.counters},
                        {"description", event.description}});
        std::string encoding = fmt::format("{}/config={:#x}", pmu, event.config);
        if (event.config1) encoding += fmt::format(",config1={:#x}", event.config1);
        text += fmt::format("{:<48} {:<34} {}\n", event.name, encoding + "/", event.description);
    };
    for (const auto* events : {&table->events, &table->kernel_events})
        for (const auto& event : *events)
            if (wanted(words, event.name + " " + event.description + " " + event.pmu)) add(event);
    if (rows.empty())
        if (const auto event = spelt(words, *table)) add(*event);
    return deliver(words, rows, text, "no event matches");
}

int list_kernels(const Words& words) {
    json rows = json::array();
    std::string text;
    for (const auto& kernel : kernels::all()) {
        if (!wanted(words, kernel.name + " " + kernel.what)) continue;
        json variants = json::array();
        std::string names;
        for (const auto& variant : kernel.variants) {
            variants.push_back({{"name", variant.name}, {"what", variant.what}, {"needs", variant.needs}, {"built", variant.built}});
            if (variant.built) names += (names.empty() ? "" : ", ") + variant.name;
        }
        json options = json::array();
        for (const auto& option : kernel.options)
            options.push_back({{"name", option.name}, {"what", option.what}, {"default", option.default_value}, {"choices", option.choices}});
        rows.push_back({{"name", kernel.name}, {"what", kernel.what}, {"operation", kernel.operation}, {"bottleneck", kernel.bottleneck},
                        {"variants", variants}, {"options", options}, {"uses_memory", kernel.uses_memory}});
        text += fmt::format("{:<10} {}\n           variants: {}\n", kernel.name, kernel.what, names);
        for (const auto& option : kernel.options)
            text += fmt::format("           --option {}={}: {}\n", option.name, option.default_value, option.what);
    }
    return deliver(words, rows, text, "no kernel matches");
}

void add_one(CLI::App& list, const char* name, const char* what, int (*run)(const Words&), int& status) {
    const auto words = std::make_shared<Words>();
    auto* command = list.add_subcommand(name, what);
    command->add_option("filter", words->filters, "Only rows with all of these words")->type_name("WORD");
    command->add_option("--json", words->json, "Write the rows as JSON to FILE ('-': stdout)")->type_name("FILE");
    const std::string kind = name;
    if (kind != "kernels") add_library_option(*command, words->events_directory);
    if (kind == "metrics" || kind == "events")
        command->add_option("--target", words->target, "CPU: as perf spells it, or a name of tmaprobe list targets; default: this machine's")->type_name("CPU");
    if (kind == "metrics") {
        command->add_option("-l,--level", words->level, "Only the tree, down to this level")->check(CLI::Range(1, 6))->type_name("N");
        command->add_option("--category", words->category, "Only this category")
            ->check(CLI::IsMember({"frontend", "bad_speculation", "backend", "retiring", "other", "tlb"}))->type_name("NAME");
        command->add_flag("--formula", words->formula, "Show formulas and thresholds");
    }
    command->callback([words, run, &status] { status = run(*words); });
}

}  // namespace

void add_list_command(CLI::App& app, int& status) {
    auto* list = app.add_subcommand("list", "What there is: kernels, metrics, events, targets");
    list->require_subcommand(1);
    add_one(*list, "kernels", "Built-in kernels with their variants and options", list_kernels, status);
    add_one(*list, "metrics", "Metrics of a CPU", list_metrics, status);
    add_one(*list, "events", "Events of a CPU with their encodings", list_events, status);
    add_one(*list, "targets", "CPUs with event tables, and whose core each is modelled as", list_targets, status);
}

}  // namespace tmaprobe::cli
