#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "counters/resctrl/group.h"
#include "experiments/interference.h"

namespace tmaprobe::cli {
namespace {

/// The words of the command line before they are understood.
struct InterferenceWords {
    std::string victim = "chase:size=8M", aggressor = "stream:size=256M", place = "l3", limit, protect,
                resctrl = counters::resctrl::usual_root, source = "auto", events_directory;
    std::vector<std::string> metrics{"tlb"}, allocations;
    int rounds = 10, level = 2;
    double seconds = 0.15;
    bool clean_up = false, reserve_pages = false;
    OutputOptions output;
};

Result<experiments::InterferenceRequest> understand(const InterferenceWords& words) {
    experiments::InterferenceRequest request;
    request.victim = words.victim;
    request.aggressor = words.aggressor;
    request.place = words.place;
    request.allocations = words.allocations;
    request.rounds = words.rounds;
    request.seconds = words.seconds;
    request.resctrl_root = words.resctrl;
    request.run.counting.level = words.level;
    request.run.workload.reserve_pages = words.reserve_pages;
    request.run.counting.metrics = words.metrics;
    request.run.counting.library = event_library(words.events_directory);
    request.run.command_line = command_line();
    request.run.counting.source = TRY(parse_source(words.source));
    for (const auto& [text, limit] : {std::pair{&words.limit, &request.limit}, {&words.protect, &request.protect}}) {
        if (text->empty()) continue;
        *limit = TRY(counters::resctrl::parse_limit(*text));
    }
    TRY(check_output(words.output));
    return request;
}

/// A killed run leaves its groups; they are said, and removed when asked.
int clean_up(const std::string& root) {
    const auto removed = counters::resctrl::remove_leftovers(root);
    if (!removed) return complain(removed.error());
    std::string text;
    for (const auto& name : *removed) text += fmt::format("removed {}\n", name);
    return print(text.empty() ? "nothing was left behind\n" : text);
}

int interfere(const InterferenceWords& words) {
    if (words.clean_up) return clean_up(words.resctrl);
    const auto request = understand(words);
    if (!request) return complain(request.error());
    note_interrupts();
    auto record = experiments::interference(*request, machine::detect(), machine::detect_topology(),
                                            {progress_line(), interrupted});
    if (!record) return complain(record.error());
    const auto leftovers = counters::resctrl::find_leftovers(words.resctrl);
    if (!leftovers.empty())
        record->warnings.push_back(
            {"resctrl_leftovers", fmt::format("{} resctrl group(s) of a killed run are still there", leftovers.size()),
             "tmaprobe interference --clean-up"});
    const int status = emit(*record, words.output);
    if (!record->partial) return status;
    return complain({ErrorCode::interrupted, "interrupted: what is shown is over fewer rounds than asked for", {}});
}

}  // namespace

void add_interference_command(CommandLine app, int& status) {
    const auto words = std::make_shared<InterferenceWords>();
    CommandLine command =
        app.add_subcommand("interference", "What a neighbour costs a victim, and what partitioning gives back");
    command.add_option("--victim", words->victim, "Kernel (chase:size=8M,pages=2m) or command (cmd:./program args)")
        .type_name("SPEC");
    command.add_option("--aggressor", words->aggressor, "The neighbour, in the same form (stream:size=256M,threads=1)")
        .type_name("SPEC");
    command.add_flag("--reserve-pages", words->reserve_pages,
                     "Reserve the huge pages that are missing, as root; they are given back at the end");
    command.add_option("--place", words->place, "Where the neighbour sits: smt, l2, l3, package or numa")
        .type_name("PLACE");
    command.add_option("--limit", words->limit, "Limit the neighbour through resctrl: l3=0x3,mb=20").type_name("LIMIT");
    command.add_option("--protect", words->protect, "Give the victim a share of its own: l3=0xff0").type_name("LIMIT");
    command
        .add_option("--allocations", words->allocations,
                    "The victim alone under growing shares of the cache (l3), of memory bandwidth (mb), or both")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("l3,mb");
    command.add_option("--rounds", words->rounds, "Measure every state this often, in turn").type_name("N");
    command.add_option("--seconds", words->seconds, "Length of one measurement of a kernel")
        .check(between(0.01, 3600.0))
        .type_name("S");
    command.add_option("-l,--level", words->level, "Depth of the victim's top-down tree")
        .type_name("N")
        .check(level_number());
    command.add_option("-m,--metric", words->metrics, "Further metrics")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("NAME,...");
    command.add_option("--source", words->source, "auto, perf or none").type_name("SOURCE");
    command.add_option("--resctrl", words->resctrl, "Where resctrl is mounted").type_name("DIR");
    command.add_flag("--clean-up", words->clean_up, "Only remove the resctrl groups that a killed run left behind");
    add_library_option(command, words->events_directory);
    add_output_options(command, words->output);
    command.example("tmaprobe interference --victim chase:size=8M --aggressor stream:size=256M",
                    "what a neighbour that streams costs one that chases pointers");
    command.callback([words, &status] { status = interfere(*words); });
}

}  // namespace tmaprobe::cli
