#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "base/json/writer.h"
#include "base/shell.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "counters/perf_command.h"
#include "counters/plan.h"
#include "experiments/further_events.h"
#include "judge/assess.h"

namespace tmaprobe::cli {
namespace {

struct PlanWords {
    std::string target, events_directory, json;
    std::vector<std::string> metrics, events;
    int level = 1, counters = 0;
    bool passes = false, without_perf_metrics = false, system_wide = false;
};

/// General-purpose counters that a thread of such a CPU surely has: the vendors' fewest, one less where
/// the NMI watchdog may hold one.
int safe_counters(events::PmuFormat format) {
    switch (format) {
        case events::PmuFormat::amd:
            return 5;
        case events::PmuFormat::arm:
            return 6;
        default:
            return 4;
    }
}

std::vector<counters::PmuLimits> limits_for(const events::Table& table, int counters) {
    std::vector<std::string> pmus = {"cpu"};
    for (const auto& event : table.events)
        if (event.pmu == "cpu_core") pmus = {"cpu_core", "cpu_atom"};
    std::vector<counters::PmuLimits> limits;
    for (const std::string& pmu : pmus) {
        counters::PmuLimits limit;
        limit.pmu = pmu;
        limit.general_counters = counters > 0 ? counters : safe_counters(table.format);
        limit.has_slots = limit.has_level2_metrics = table.format == events::PmuFormat::intel && pmu != "cpu_atom";
        limits.push_back(limit);
    }
    return limits;
}

/// A shell line per pass, with a file each.
std::vector<std::vector<std::string>> commands_of(const PlanWords& words, const events::Table& table,
                                                  const counters::Plan& plan) {
    std::vector<std::vector<std::string>> commands;
    for (std::size_t i = 0; i < plan.passes.size(); ++i) {
        const std::string file = plan.passes.size() == 1 ? "counts.csv" : fmt::format("counts-{}.csv", i + 1);
        commands.push_back(counters::perf_stat_command(table, plan.passes[i], file));
        if (words.system_wide) commands.back().insert(commands.back().begin() + 2, "-a");  // after "perf stat"
    }
    return commands;
}

std::vector<std::string> replay_command(const PlanWords& words, std::size_t passes) {
    std::vector<std::string> line = {"tmaprobe", "replay"};
    for (std::size_t i = 0; i < passes; ++i)
        line.push_back(passes == 1 ? "counts.csv" : fmt::format("counts-{}.csv", i + 1));
    line.insert(line.end(), {"--target", words.target, "--level", std::to_string(words.level)});
    for (const std::string& metric : words.metrics) line.insert(line.end(), {"--metric", metric});
    if (words.system_wide) line.insert(line.end(), {"--system-wide", "1"});
    return line;
}

void write_group(json::Writer& writer, const counters::EventGroup& group) {
    writer.begin_array();
    for (const auto& event : group.events) {
        writer.begin_object();
        writer.member("name", event.definition.name);
        writer.member("config", fmt::format("{:#x}", event.definition.config));
        writer.member("config1", fmt::format("{:#x}", event.definition.config1));
        writer.member("pmu", group.pmu);
        writer.end_object();
    }
    writer.end_array();
}

std::string plan_json(const PlanWords& words, const events::Table& table, const counters::Plan& plan) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object();
    writer.member("target", table.cpu_id);
    writer.member("folder", table.folder);
    writer.member("level", words.level);
    std::vector<std::string> commands;
    for (const auto& command : commands_of(words, table, plan)) commands.push_back(shell_quoted(command));
    writer.member("commands", commands);
    writer.member("replay", shell_quoted(replay_command(words, plan.passes.size())));
    writer.key("passes");
    writer.begin_array();
    for (const auto& pass : plan.passes) {
        writer.begin_array();
        for (const auto& group : pass.groups) write_group(writer, group);
        writer.end_array();
    }
    writer.end_array();
    auto notes = plan.notes;
    if (auto split = counters::split_warning(plan.split, plan.policy)) notes.push_back(std::move(*split));
    writer.key("notes");
    writer.begin_array();
    for (const auto& note : notes) {
        writer.begin_object();
        writer.member("id", note.id);
        writer.member("what", note.what);
        writer.member("hint", note.hint);
        writer.end_object();
    }
    writer.end_array();
    writer.end_object();
    return writer.take();
}

std::string plan_text(const PlanWords& words, const events::Table& table, const counters::Plan& plan) {
    std::string text = fmt::format("# On the machine that is to be counted ({}); the program goes after '--'.\n",
                                   table.title.empty() ? table.folder : table.title);
    for (auto command : commands_of(words, table, plan)) {
        command.insert(command.end(), {"--", "./my-program"});
        text += shell_quoted(command) + "\n";
    }
    text += "\n# Then anywhere:\n" + shell_quoted(replay_command(words, plan.passes.size())) + "\n";
    if (table.format == events::PmuFormat::intel) text += "#   add --smt 1 if SMT is on there\n";
    std::string split;
    for (const auto& note : plan.notes) text += fmt::format("# note: {}\n", note.what);
    for (const auto& metric : plan.split) split += (split.empty() ? "" : ", ") + metric.name;
    if (!split.empty()) text += fmt::format("# counted in several groups, so less exact on short runs: {}\n", split);
    return text;
}

int plan_elsewhere(const PlanWords& words) {
    const auto library = event_library(words.events_directory);
    auto table = events::load(library, words.target);
    if (!table) return complain(table.error());
    if (words.without_perf_metrics)
        if (const auto replaced = events::use_formulas_without_perf_metrics(library, *table); !replaced)
            return complain(replaced.error());
    const auto metrics = judge::choose_metrics(*table, words.level, words.metrics);
    if (!metrics) return complain(metrics.error());
    const auto further = experiments::further_events(*table, words.events);
    if (!further) return complain(further.error());
    if (metrics->empty() && words.events.empty())
        return complain({ErrorCode::unavailable,
                         fmt::format("the vendor publishes no top-down tree for {}", table->folder),
                         "--metric tlb plans the translation metrics"});
    metrics::Constants constants;
    constants.cpu_id = table->cpu_id;
    constants.values = {{"#core_wide", words.system_wide}, {"#has_pmem", 0}};
    constants.values["#slots"] = table->slots_per_cycle.value_or(1);
    constants.has_event = [&](std::string_view name) { return events::resolve(*table, name).has_value(); };
    auto plan = counters::make_plan(*table, *metrics, further->events, limits_for(*table, words.counters), constants,
                                    words.passes ? counters::Policy::passes : counters::Policy::multiplex);
    if (!plan) return complain(plan.error());
    if (plan->passes.empty())
        return complain({ErrorCode::unavailable, "the formulas of these metrics need no counts", ""});
    plan->notes.insert(plan->notes.end(), further->notes.begin(), further->notes.end());
    if (words.json.empty()) return print(plan_text(words, *table, *plan));
    const std::string json = plan_json(words, *table, *plan);
    if (words.json == "-") return print(json);
    const auto written = write_file(words.json, json);
    return written ? 0 : complain(written.error());
}

}  // namespace

void add_plan_command(CommandLine app, int& status) {
    const auto words = std::make_shared<PlanWords>();
    CommandLine command =
        app.add_subcommand("plan", "The perf stat command that counts on another machine, for replay");
    command
        .add_option("--target", words->target,
                    "CPU of that machine: as perf spells it, or a name of tmaprobe list targets")
        .required()
        .type_name("CPU");
    command.add_option("-l,--level", words->level, "Depth of the top-down tree, 1 to 6")
        .check(between(1, 6))
        .type_name("N");
    command.add_option("-m,--metric", words->metrics, "Metrics beyond the tree; 'tlb': all about translation")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("NAME,...");
    command.add_option("-e,--event", words->events, "Further events, however spelt; may be repeated")
        .allow_extra_args(false)
        .type_name("EVENT");
    command.add_option("--counters", words->counters, "General-purpose counters free on that machine")
        .check(between(1, 32))
        .type_name("N");
    command.add_flag("--without-perf-metrics", words->without_perf_metrics,
                     "For an Intel virtual machine that does not show slots and topdown-*");
    command.add_flag("-a,--system-wide", words->system_wide, "Count all CPUs there, whatever runs: perf stat -a");
    command.add_flag("--passes", words->passes, "One command per run instead of one that multiplexes");
    command.add_option("--json", words->json, "Write groups and commands to FILE ('-': to stdout, instead of the text)")
        .type_name("FILE");
    add_library_option(command, words->events_directory);
    command.example("tmaprobe plan --target GenuineIntel-6-8F-8 --level 2", "what to type on a Sapphire Rapids");
    command.callback([words, &status] { status = plan_elsewhere(*words); });
}

}  // namespace tmaprobe::cli
