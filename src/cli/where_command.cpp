#include <memory>

#include "cli/commands.h"
#include "cli/run_words.h"
#include "cli/where_view.h"
#include "experiments/what_if.h"
#include "model/model.h"

namespace tmaprobe::cli {
namespace {

struct Words {
    RunWords run;
    WhereWords where;
    std::string region;
    bool gains = false;
};

Result<experiments::RunRequest> understand_where(const Words& words) {
    auto request = TRY(understand(words.run));
    using experiments::SourceChoice;
    if (request.counting.source == SourceChoice::perf || request.counting.source == SourceChoice::none)
        return fail(ErrorCode::bad_usage, "which code takes the slots, the model says, and --source leaves it out",
                    "leave --source out: where there are counters, the tree is counted all the same");
    TRY(model::check_built());
    request.counting.attribute = true;
    request.counting.attribute_in = words.region;
    if (words.region.empty()) return request;
    if (!words.run.kernel.empty()) return fail(ErrorCode::bad_usage, "--in is for a command's regions");
    return request;
}

int where(Words words) {
    const auto request = understand_where(words);
    if (!request) return complain(request.error());
    const auto record = words.gains ? experiments::where_with_gains(*request, machine::detect(),
                                                                    machine::detect_topology(), begin_run(*request))
                                    : run(*request);
    if (!record) return complain(record.error());
    words.run.output.where = where_view(words.where, {*record}, words.run.output.format);
    return emit_run(*record, words.run);
}

}  // namespace

void add_where_command(CommandLine app, const std::vector<std::string>& command, int& status) {
    CommandLine where_command = app.add_subcommand(
        "where", "Which functions, lines and instructions take the slots of a kernel, command or process, and why");
    const auto words = std::make_shared<Words>();
    add_where_options(where_command, words->where);
    where_command
        .add_option("--in", words->region,
                    "Only what takes the slots of this region: as the program marks it, or as --region names it")
        .type_name("REGION");
    where_command.add_flag("--what-if", words->gains,
                           "Say of the lines that take most how much faster all would be if each took its slots and "
                           "nothing more; costs another simulation");
    add_run_options(where_command, words->run);
    where_command.example("tmaprobe where --by line ./my-program args", "the lines that take the slots, and why");
    where_command.callback([words, &command, &status] {
        words->run.command = command;
        status = where(*words);
    });
}

}  // namespace tmaprobe::cli
