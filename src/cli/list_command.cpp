#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/json/writer.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "events/core_data.h"
#include "events/table.h"
#include "kernels/kernel.h"
#include "machine/host.h"
#include "metrics/evaluate.h"
#include "metrics/expression.h"

namespace tmaprobe::cli {
namespace {

struct ListWords {
    std::string target, events_directory, json, category;
    std::vector<std::string> filters;
    int level = 0;
    bool formula = false;
};

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// The rows as JSON, an object each.
class Rows {
  public:
    Rows() { writer_.begin_array(); }
    /// `write` writes the row's members.
    template <class Write>
    void add(const Write& write) {
        writer_.begin_object();
        write(writer_);
        writer_.end_object();
        empty_ = false;
    }
    bool empty() const { return empty_; }
    std::string take() {
        writer_.end_array();
        return writer_.take();
    }

  private:
    json::Writer writer_{json::Layout::indented};
    bool empty_ = true;
};

/// Every filter word occurs somewhere in the texts, whatever its case.
bool wanted(const ListWords& words, const std::string& texts) {
    const std::string all = lower(texts);
    return std::ranges::all_of(words.filters,
                               [&](const std::string& word) { return all.find(lower(word)) != all.npos; });
}

int deliver(const ListWords& words, Rows& rows, const std::string& text, const std::string& nothing) {
    if (!words.json.empty()) {
        const std::string content = rows.take();
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

Result<events::Table> load_table(const ListWords& words) {
    if (!words.target.empty()) return events::load(event_library(words.events_directory), words.target);
    const auto host = machine::detect();
    auto table = events::load(event_library(words.events_directory), host.cpu_id);
    if (!table) table.error().hint = "--target CPU names another one; tmaprobe list targets shows them all";
    return table;
}

/// Whose core the model takes for a target's; "not modelled" where there is no data.
std::string model_text(const Result<events::CoreModel>& model) {
    if (!model) return "not modelled";
    return fmt::format("modelled as {}{}", model->llvm_cpu,
                       model->borrowed_model.empty() ? "" : ": " + model->borrowed_model);
}

void write_model(json::Writer& row, const Result<events::CoreModel>& model) {
    row.key("model");
    if (!model) return row.null();
    row.begin_object();
    row.member("core", model->llvm_cpu);
    row.member("borrowed", model->borrowed_model);
    row.end_object();
}

int list_targets(const ListWords& words) {
    const events::Library library = event_library(words.events_directory);
    const auto targets = events::known_targets(library);
    if (!targets) return complain(targets.error());
    Rows rows;
    std::string text;
    for (const auto& target : *targets) {
        const std::string patterns = fmt::format("{}", fmt::join(target.patterns, " "));
        const std::string names = fmt::format("{}", fmt::join(target.names, " "));
        if (!wanted(words, fmt::format("{} {} {} {}", target.folder, target.title, names, patterns))) continue;
        const auto model = events::read_core_model(library, target.folder);
        text += fmt::format("{:<16} {:<42} {}{}{}\n{:<16} {}\n", target.folder, target.title, patterns,
                            names.empty() ? "" : "  also: ", names, "", model_text(model));
        rows.add([&](json::Writer& row) {
            row.member("folder", target.folder);
            row.member("title", target.title);
            row.member("names", target.names);
            row.member("cpu_ids", target.patterns);
            row.member("version", target.version);
            write_model(row, model);
        });
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

int list_metrics(const ListWords& words) {
    const auto table = load_table(words);
    if (!table) return complain(table.error());
    metrics::Constants constants;
    constants.has_event = [&](std::string_view name) { return events::resolve(*table, name).has_value(); };
    std::map<std::string, std::vector<metrics::MetricDefinition>> of_pmu;
    for (const auto& metric : table->metrics) of_pmu[metric.pmu].push_back(metric);
    Rows rows;
    std::string text;
    for (const auto& metric : table->metrics) {
        if (words.level > 0 && (metric.level == 0 || metric.level > words.level)) continue;
        if (!words.category.empty() && metric.category != words.category) continue;
        if (!wanted(words, metric.name + " " + metric.description + " " + metric.pmu)) continue;
        const std::string never = why_never(*table, of_pmu[metric.pmu], metric.name, constants);
        rows.add([&](json::Writer& row) {
            row.member("name", metric.name);
            row.member("pmu", metric.pmu);
            row.member("level", metric.level);
            row.member("parent", metric.parent);
            row.member("category", metric.category);
            row.member("subcategory", metric.subcategory);
            row.member("unit", metric.scale_unit);
            row.member("formula", metrics::without_escapes(metric.expression));
            row.member("threshold", metric.threshold);
            row.member("groups", metric.groups);
            row.member("description", metric.description);
            if (!never.empty()) row.member("unavailable", never);
        });
        text += fmt::format("{:<42} {:<20} {}\n", metric.name + (metric.pmu.empty() ? "" : " (" + metric.pmu + ")"),
                            place_of(metric), metric.description);
        if (!never.empty()) text += fmt::format("    unavailable: {}\n", never);
        if (!words.formula) continue;
        text += fmt::format("    = {}\n", metrics::without_escapes(metric.expression));
        if (!metric.threshold.empty()) text += fmt::format("    flagged if {}\n", metric.threshold);
        if (metric.project_threshold)
            text += fmt::format("    flagged above {} (this project's threshold)\n", *metric.project_threshold);
    }
    return deliver(words, rows, text, "no metric matches");
}

/// The one event that a filter spells out instead of matching: an encoding, or libpfm4's name of it.
Result<events::EventDefinition> spelt(const ListWords& words, const events::Table& table) {
    if (words.filters.size() != 1) return fail(ErrorCode::bad_usage, "no event matches");
    return events::resolve(table, words.filters.front());
}

int list_events(const ListWords& words) {
    const auto table = load_table(words);
    if (!table) return complain(table.error());
    Rows rows;
    std::string text;
    const auto add = [&](const events::EventDefinition& event) {
        const std::string pmu = event.pmu.empty() ? "cpu" : event.pmu;
        rows.add([&](json::Writer& row) {
            row.member("name", event.name);
            row.member("pmu", pmu);
            row.member("config", fmt::format("{:#x}", event.config));
            row.member("config1", fmt::format("{:#x}", event.config1));
            row.member("config2", fmt::format("{:#x}", event.config2));
            row.member("counters", event.counters);
            row.member("description", event.description);
        });
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

void write_kernel(json::Writer& row, const kernels::KernelDescriptor& kernel) {
    row.member("name", kernel.name);
    row.member("what", kernel.what);
    row.member("operation", kernel.operation);
    row.member("bottleneck", kernel.bottleneck);
    row.key("variants");
    row.begin_array();
    for (const auto& variant : kernel.variants) {
        row.begin_object();
        row.member("name", variant.name);
        row.member("what", variant.what);
        row.member("needs", variant.needs);
        row.member("built", variant.built);
        row.end_object();
    }
    row.end_array();
    row.key("options");
    row.begin_array();
    for (const auto& option : kernel.options) {
        row.begin_object();
        row.member("name", option.name);
        row.member("what", option.what);
        row.member("default", option.default_value);
        row.member("choices", option.choices);
        row.end_object();
    }
    row.end_array();
    row.member("uses_memory", kernel.uses_memory);
}

int list_kernels(const ListWords& words) {
    Rows rows;
    std::string text;
    for (const auto& kernel : kernels::all()) {
        if (!wanted(words, kernel.name + " " + kernel.what)) continue;
        std::string names;
        for (const auto& variant : kernel.variants)
            if (variant.built) names += (names.empty() ? "" : ", ") + variant.name;
        rows.add([&](json::Writer& row) { write_kernel(row, kernel); });
        text += fmt::format("{:<10} {}\n           variants: {}\n", kernel.name, kernel.what, names);
        for (const auto& option : kernel.options)
            text += fmt::format("           --option {}={}: {}\n", option.name, option.default_value, option.what);
    }
    return deliver(words, rows, text, "no kernel matches");
}

void add_one(CommandLine list, const char* name, const char* what, int (*run)(const ListWords&), int& status) {
    const auto words = std::make_shared<ListWords>();
    CommandLine command = list.add_subcommand(name, what);
    command.add_option("filter", words->filters, "Only rows with all of these words").type_name("WORD");
    command.add_option("--json", words->json, "Write the rows as JSON to FILE ('-': stdout)").type_name("FILE");
    const std::string kind = name;
    if (kind != "kernels") add_library_option(command, words->events_directory);
    if (kind == "metrics" || kind == "events")
        command
            .add_option("--target", words->target,
                        "CPU: as perf spells it, or a name of tmaprobe list targets; default: this machine's")
            .type_name("CPU");
    if (kind == "metrics") {
        command.add_option("-l,--level", words->level, "Only the tree, down to this level")
            .check(between(1, 6))
            .type_name("N");
        command.add_option("--category", words->category, "Only this category")
            .check(one_of({"frontend", "bad_speculation", "backend", "retiring", "other", "tlb"}))
            .type_name("NAME");
        command.add_flag("--formula", words->formula, "Show formulas and thresholds");
    }
    command.callback([words, run, &status] { status = run(*words); });
}

}  // namespace

void add_list_command(CommandLine app, int& status) {
    CommandLine list = app.add_subcommand("list", "What there is: kernels, metrics, events, targets");
    list.require_subcommand();
    list.example("tmaprobe list metrics --level 2", "the tree of this CPU, two levels deep");
    add_one(list, "kernels", "Built-in kernels with their variants and options", list_kernels, status);
    add_one(list, "metrics", "Metrics of a CPU", list_metrics, status);
    add_one(list, "events", "Events of a CPU with their encodings", list_events, status);
    add_one(list, "targets", "CPUs with event tables, and whose core each is modelled as", list_targets, status);
}

}  // namespace tmaprobe::cli
