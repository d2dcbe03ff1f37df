#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "experiments/pairs.h"
#include "machine/host.h"
#include "machine/topology.h"

namespace tmaprobe::cli {
namespace {

struct PairsWords {
    std::string kernel = "atomic", cpus, events_directory;
    std::vector<std::string> options;
    int repeat = 0;
    bool classes = false;
    OutputOptions output;
};

Result<experiments::PairsRequest> understand(const PairsWords& words) {
    experiments::PairsRequest request;
    request.kernel = words.kernel;
    request.one_per_class = words.classes;
    request.repetitions = words.repeat;
    request.library = event_library(words.events_directory);
    request.command_line = command_line();
    TRY(parse_options(words.options, request.options));
    if (!words.cpus.empty()) {
        request.cpus = TRY(parse_cpu_list(words.cpus));
    }
    TRY(check_output(words.output));
    return request;
}

int run_pairs(const PairsWords& words) {
    const auto request = understand(words);
    if (!request) return complain(request.error());
    note_interrupts();
    const auto record =
        experiments::pairs(*request, machine::detect(), machine::detect_topology(), {progress_line(), interrupted});
    if (!record) return complain(record.error());
    const int written = emit(*record, words.output);
    if (record->partial) return complain({ErrorCode::interrupted, "interrupted: the matrix is not whole", {}});
    return written;
}

}  // namespace

void add_pairs_command(CommandLine app, int& status) {
    CommandLine command =
        app.add_subcommand("pairs", "What it costs two CPUs to share a cache line, by their distance");
    const auto words = std::make_shared<PairsWords>();
    command.add_flag("--classes", words->classes, "One pair of each distance instead of all");
    command
        .add_option("-k,--kernel", words->kernel,
                    "atomic (both increment one variable) or pingpong (a line there and back)")
        .type_name("NAME")
        .capture_default_str();
    command.add_option("--cpu", words->cpus, "Only these CPUs").type_name("LIST");
    command.add_option("--option", words->options, "An option of the kernel's own")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("NAME=VALUE,...");
    command.add_option("-r,--repeat", words->repeat, "Repetitions of each pair; default: until the median is tight")
        .type_name("N")
        .check(whole_number(1, max_repetitions));
    add_library_option(command, words->events_directory);
    add_output_options(command, words->output);
    command.example("tmaprobe pairs --classes", "one pair of each distance: hyperthread, shared cache, socket");
    command.callback([words, &status] { status = run_pairs(*words); });
}

}  // namespace tmaprobe::cli
