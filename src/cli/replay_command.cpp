#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "experiments/replay.h"

namespace tmaprobe::cli {
namespace {

struct ReplayWords {
    std::string target, events_directory;
    std::vector<std::string> files, metrics;
    int level = 1, smt = -1, system_wide = -1, slots = 0;
    OutputOptions output;
};

int replay(const ReplayWords& words) {
    if (const auto good = check_output(words.output); !good) return complain(good.error());
    experiments::ReplayRequest request;
    request.files.assign(words.files.begin(), words.files.end());
    request.target = words.target;
    request.level = words.level;
    request.metrics = words.metrics;
    if (words.smt >= 0) request.smt = words.smt == 1;
    if (words.system_wide >= 0) request.system_wide = words.system_wide == 1;
    if (words.slots > 0) request.slots = words.slots;
    request.library = event_library(words.events_directory);
    request.command_line = command_line();
    const auto record = experiments::replay(request);
    return record ? emit(*record, words.output) : complain(record.error());
}

}  // namespace

void add_replay_command(CommandLine app, int& status) {
    const auto words = std::make_shared<ReplayWords>();
    CommandLine command = app.add_subcommand("replay", "The tree from counts that perf stat took elsewhere");
    command
        .add_option("file", words->files,
                    "Output of perf stat -x, or perf stat -j (see tmaprobe plan); several are passes")
        .required()
        .type_name("FILE");
    command
        .add_option("--target", words->target,
                    "CPU that counted: as perf spells it, or a name of tmaprobe list targets")
        .required()
        .type_name("CPU");
    command.add_option("-l,--level", words->level, "Depth of the top-down tree, 1 to 6")
        .check(between(1, 6))
        .type_name("N");
    command.add_option("-m,--metric", words->metrics, "Metrics beyond the tree; 'tlb': all about translation")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("NAME,...");
    command.add_option("--smt", words->smt, "Whether SMT was on there: 0 or 1").check(between(0, 1)).type_name("0|1");
    command.add_option("--system-wide", words->system_wide, "Whether all CPUs were counted (perf stat -a): 0 or 1")
        .check(between(0, 1))
        .type_name("0|1");
    command.add_option("--slots", words->slots, "Slots per cycle, where Arm's formulas ask")
        .check(between(1, 64))
        .type_name("N");
    add_library_option(command, words->events_directory);
    add_output_options(command, words->output);
    command.example("tmaprobe replay counts.csv --target GenuineIntel-6-8F-8 --level 2",
                    "the tree from what the plan's command wrote there");
    command.callback([words, &status] { status = replay(*words); });
}

}  // namespace tmaprobe::cli
