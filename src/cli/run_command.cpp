#include <memory>

#include "cli/commands.h"
#include "cli/run_words.h"

namespace tmaprobe::cli {
namespace {

int run_and_report(const RunWords& words) {
    const auto request = understand(words);
    if (!request) return complain(request.error());
    const auto record = run(*request);
    return record ? emit_run(*record, words) : complain(record.error());
}

}  // namespace

void add_run_command(CommandLine app, const std::vector<std::string>& command, int& status) {
    const auto words = std::make_shared<RunWords>();
    add_run_options(app, *words);
    app.example("tmaprobe --kernel sha256 --level 2", "what bounds a built-in kernel here");
    app.example("tmaprobe --level 2 ./my-program args", "the same of any command; its output stays its own");
    app.example("tmaprobe --kernel chase --size 16M --pages 4k,2m", "normal against huge pages, side by side");
    app.footer(
        "Behind -- all words are the measured command's; without it, from the first on that is no option and no "
        "command's name. Exit status: 0 done, 1 it could not be measured, 2 bad usage; a measured command's own status "
        "is passed on.");
    app.check_parsed([&command, app]() -> Result<> {
        const std::string subcommand = app.subcommand();
        if (subcommand.empty() || measures_command(subcommand) || command.empty()) return {};
        return fail(ErrorCode::bad_usage, "tmaprobe " + subcommand + ": takes no command after '--'");
    });
    app.callback([words, &command, app, &status] {
        words->command = command;
        if (app.subcommand().empty()) status = run_and_report(*words);
    });
}

}  // namespace tmaprobe::cli
