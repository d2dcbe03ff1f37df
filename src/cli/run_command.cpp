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
    words->command = command;
    add_run_options(app, *words);
    app.footer(
        "A command to measure goes after '--':  tmaprobe --level 2 -- ./my-program args\n"
        "Exit status: 0 done, 1 it could not be measured, 2 bad usage; a measured command's own status is passed on.");
    app.check_parsed([words, app]() -> Result<> {
        const std::string subcommand = app.subcommand();
        if (subcommand.empty() || subcommand == "where" || words->command.empty()) return {};
        return fail(ErrorCode::bad_usage, "tmaprobe " + subcommand + ": takes no command after '--'");
    });
    app.callback([words, app, &status] {
        if (app.subcommand().empty()) status = run_and_report(*words);
    });
}

}  // namespace tmaprobe::cli
