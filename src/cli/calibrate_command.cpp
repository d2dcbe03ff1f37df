#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "experiments/calibrate.h"
#include "experiments/calibration_file.h"
#include "machine/host.h"
#include "machine/topology.h"
#include "record/json/calibration.h"
#include "report/calibration.h"

namespace tmaprobe::cli {
namespace {

struct Words {
    std::string file, cpu;
};

std::string to_text(const experiments::CalibrationReport& report) {
    const record::Calibration& calibration = report.calibration;
    std::vector<report::CalibrationLine> lines;
    for (const auto& fact : report.facts)
        lines.push_back({fact.what, fact.found, fact.table, fact.modelled, fact.used});
    const auto used = std::ranges::count_if(report.facts, &experiments::ComparedFact::used);
    std::string text = fmt::format("{} ({}), core clock {:.2f} GHz; beside it the figures of {}\n\n",
                                   calibration.cpu_model, calibration.cpu_id, calibration.clock_hz * 1e-9,
                                   calibration.folder.empty() ? "no table" : calibration.folder);
    text += report::calibration_table(lines);
    for (const std::string& left_out : report.left_out) text += "not measured: " + left_out + "\n";
    text += fmt::format("\nThe model uses {} of {} facts in the place of the tables' figures.\n", used, lines.size());
    return text;
}

Result<std::filesystem::path> path_of(const Words& words, const machine::Host& host) {
    if (!words.file.empty()) return words.file;
    const auto path = experiments::calibration_path(host);
    if (path.empty())
        return fail(ErrorCode::bad_usage, "there is no home to keep the calibration in", "name a file with --output");
    return path;
}

int run_calibrate(const Words& words) {
    experiments::CalibrateRequest request;
    request.interrupted = interrupted;
    if (!words.cpu.empty()) {
        const auto cpus = parse_cpu_list(words.cpu);
        if (!cpus) return complain(cpus.error());
        if (cpus->size() != 1) return complain({ErrorCode::bad_usage, "one CPU is calibrated at a time", {}});
        request.cpu = cpus->front();
    }
    note_interrupts();
    const auto host = machine::detect();
    const auto path = path_of(words, host);
    if (!path) return complain(path.error());
    const auto report = experiments::calibrate(request, host, machine::detect_topology(), progress_line());
    if (!report) return complain(report.error());
    if (const auto written = experiments::write_calibration(report->calibration, *path); !written)
        return complain(written.error());
    return print(to_text(*report) + "Written to " + path->string() + "\n");
}

}  // namespace

void add_calibrate_command(CommandLine app, int& status) {
    CommandLine command = app.add_subcommand("calibrate", "Measure this core by the clock, so that the model is of it");
    const auto words = std::make_shared<Words>();
    command.add_option("-o,--output", words->file, "Where the facts go; default: this CPU's file in the cache folder")
        .type_name("FILE");
    command.add_option("--cpu", words->cpu, "The CPU that is measured; default: the quietest").type_name("CPU");
    command.example("tmaprobe calibrate", "takes a minute or so; the model then has this core's own latencies");
    command.callback([words, &status] { status = run_calibrate(*words); });
}

}  // namespace tmaprobe::cli
