#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "cli/region_words.h"
#include "experiments/gate.h"
#include "judge/gate.h"
#include "machine/topology.h"
#include "model/model.h"
#include "record/json/file.h"
#include "report/gate.h"

namespace tmaprobe::cli {
namespace {

struct GateWords {
    std::string baseline, fail_above = "1%", target, label, events_directory;
    bool update = false;
    int layouts = 4, seed = 1;
    RegionWords regions;
    std::vector<std::string> command;
    OutputOptions output;
};

const std::vector<std::string> gate_formats{"json", "markdown", "github", "gitlab", "html"};

/// Exit status of a cost that cannot be judged: neither fine nor slower.
constexpr int gate_not_judged = 3;

std::string gate_text(const record::Record& record, const OutputOptions& output) {
    if (output.format == "json") return record::serialize(record);
    if (output.format == "markdown") return report::gate_markdown(record);
    if (output.format == "github") return report::gate_github(record);
    if (output.format == "gitlab") return report::gate_gitlab(record);
    if (output.format == "html") return report::gate_html(record);
    return report::render_gate(record, terminal_style(output, ReportStream::standard_error));
}

int write_gate(const record::Record& record, const OutputOptions& output) {
    int status = 0;
    if (!output.json.empty() && output.json != "-")
        if (const auto written = write_file(output.json, record::serialize(record)); !written)
            status = complain(written.error());
    if (output.json == "-") {
        status = print(record::serialize(record));
        if (output.output.empty()) return status;
    }
    return std::max(status, deliver(gate_text(record, output), output, ReportStream::standard_error));
}

Result<record::Record> read_baseline(const std::string& path, const std::string& target) {
    auto records = TRY(record::read_records(path));
    TRY(judge::check_baseline(records.back(), path, TMAPROBE_VERSION, target));
    return std::move(records.back());
}

/// What the file holds now becomes part of the new one's history, if it is a baseline at all.
std::vector<record::CostPoint> history_of(const std::string& path) {
    constexpr std::size_t most = 500;
    if (!std::filesystem::exists(path)) return {};
    const auto records = record::read_records(path);
    if (!records || records->back().runs.empty() || !records->back().runs.front().extra.gate) return {};
    const record::Record& before = records->back();
    const record::Gate& gate = *before.runs.front().extra.gate;
    auto history = gate.history;
    history.push_back({before.started, gate.label, gate.cost.cycles.value, before.tool.version});
    if (history.size() > most) history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(most));
    return history;
}

Result<> check_words(const GateWords& words) {
    TRY(model::check_built());
    if (!words.output.format.empty() && std::ranges::find(gate_formats, words.output.format) == gate_formats.end())
        return fail(ErrorCode::bad_usage, "gate has no format called '" + words.output.format + "'",
                    suggest(words.output.format, gate_formats));
    if (words.command.empty())
        return fail(ErrorCode::bad_usage, "gate needs a command",
                    "name it behind --: tmaprobe gate main.json -- ./bench");
    // Its formats are its own.
    OutputOptions places = words.output;
    places.format.clear();
    return check_output(places);
}

/// The command failed, and so says nothing; its status is told.
int say_failed(const GateWords& words, int status) {
    static_cast<void>(complain(
        {ErrorCode::unavailable,
         fmt::format("{} ended with status {}: whether it became slower is not judged", words.command.front(), status),
         "mend it first"}));
    return gate_not_judged;
}

int update(const GateWords& words, record::Record record) {
    record::Gate& gate = *record.runs.front().extra.gate;
    const std::string why = judge::why_not_repeatable(gate);
    if (!why.empty()) {
        static_cast<void>(
            complain({ErrorCode::unavailable, "no baseline is made: " + why, "give it a fixed amount of work"}));
        return gate_not_judged;
    }
    gate.history = history_of(words.baseline);
    if (const auto written = write_file(words.baseline, record::serialize(record)); !written)
        return complain(written.error());
    return write_gate(record, words.output);
}

int gate(const GateWords& words) {
    if (const auto checked = check_words(words); !checked) return complain(checked.error());
    const auto limit = parse_percent("--fail-above", words.fail_above);
    if (!limit) return complain(limit.error());
    experiments::GateRequest request;
    request.command = words.command;
    request.target = words.target;
    request.label = words.label;
    request.layouts = words.layouts;
    request.seed = static_cast<std::uint64_t>(words.seed);
    request.library = event_library(words.events_directory);
    request.command_line = command_line();
    const auto regions = region_request(words.regions);
    if (!regions) return complain(regions.error());
    request.regions = *regions;
    std::optional<record::Record> baseline;
    if (!words.update) {
        auto read = read_baseline(words.baseline, words.target);
        if (!read) return complain(read.error());
        baseline = std::move(*read);
        const record::Gate& before = *baseline->runs.front().extra.gate;
        request.target = baseline->source.target;
        request.layouts = static_cast<int>(before.layouts);
        request.seed = before.seed;
        const auto model = experiments::gate_model(request, machine::detect(), machine::detect_topology());
        if (!model) return complain(model.error());
        if (const auto same = judge::check_model(before, words.baseline, *model); !same) return complain(same.error());
        if (before.marks && !words.regions.ignore) request.regions.marks = experiments::RegionRequest::Marks::listen;
        if (words.regions.functions.empty()) request.regions.functions = before.region_functions;
    }
    auto record = experiments::gate(request, machine::detect(), machine::detect_topology(), progress_line());
    clear_progress();
    if (!record) return complain(record.error());
    if (!record->runs.front().extra.gate) return say_failed(words, record->extra.exit_status.value_or(0));
    if (words.update) return update(words, std::move(*record));
    record::Gate& now = *record->runs.front().extra.gate;
    const record::Gate& before = *baseline->runs.front().extra.gate;
    now.result = judge::gate_result(before, now, *limit);
    now.history = before.history;
    now.history.push_back({baseline->started, before.label, before.cost.cycles.value, baseline->tool.version});
    const int written = write_gate(*record, words.output);
    if (written != 0) return written;
    switch (now.result->verdict) {
        case record::GateVerdict::slower:
            return 1;
        case record::GateVerdict::not_judged:
            return gate_not_judged;
        case record::GateVerdict::passed:
        case record::GateVerdict::faster:
            break;
    }
    return 0;
}

}  // namespace

void add_gate_command(CommandLine app, const std::vector<std::string>& command, int& status) {
    CommandLine gate_command = app.add_subcommand(
        "gate", "For CI: a repeatable cost of a command, held against a baseline, without false alarms");
    const auto words = std::make_shared<GateWords>();
    gate_command.add_option("baseline", words->baseline, "File of the baseline").required().type_name("BASELINE");
    gate_command.group("Gate");
    gate_command.add_flag("--update", words->update, "Make BASELINE of what the command costs now");
    gate_command
        .add_option("--fail-above", words->fail_above,
                    "Exit with 1 if it became slower by more than this, with confidence")
        .capture_default_str()
        .type_name("PERCENT");
    gate_command.add_option("--target", words->target, "CPU to model, with --update; default: this machine's")
        .type_name("CPU");
    gate_command
        .add_option("--label", words->label, "What this state of the program is called in the history: a commit")
        .type_name("TEXT");
    gate_command.add_option("--layouts", words->layouts, "Layouts of memory to simulate, with --update")
        .check(between(1, 64))
        .capture_default_str()
        .type_name("N");
    gate_command.add_option("--seed", words->seed, "That layouts and windows follow from, with --update")
        .check(between(0, 1 << 30))
        .capture_default_str()
        .type_name("N");
    gate_command.group("Regions, each judged by itself, too");
    add_region_options(gate_command, words->regions);
    gate_command.group("Output");
    gate_command.add_option("--json", words->output.json, "Write the record to FILE ('-': to stdout)")
        .type_name("FILE");
    gate_command
        .add_option("--format", words->output.format,
                    "Write json, markdown, github (annotations), gitlab (code quality) or html instead of the text")
        .type_name("FORMAT");
    gate_command.add_option("-o,--output", words->output.output, "Write to FILE instead of to stderr")
        .type_name("FILE");
    add_drawing_options(gate_command, words->output);
    add_library_option(gate_command, words->events_directory);
    gate_command.example("tmaprobe gate --update main.json -- ./bench", "on the main branch: makes the baseline");
    gate_command.example("tmaprobe gate main.json --fail-above 2% -- ./bench",
                         "status 1 if it became slower than that");
    gate_command.footer(
        "Exit status:\n"
        "  0 not slower than allowed with confidence\n"
        "  1 slower than --fail-above allows, with confidence, all of it or a region; or it could not be done\n"
        "  2 bad usage, or a baseline of another target, architecture or version of tmaprobe\n"
        "  3 not judged: the command failed, its work depends on the time or on chance, or too little is known");
    gate_command.callback([words, &command, &status] {
        words->command = command;
        status = gate(*words);
    });
}

}  // namespace tmaprobe::cli
