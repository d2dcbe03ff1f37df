#include "cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string_view>

#include "base/log.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/start.h"

namespace tmaprobe::cli {
namespace {

/// A mistyped option or command word: the parser's message, with the nearest right spelling.
int complain_about_usage(const CLI::App& app, const CLI::ParseError& error) {
    std::vector<std::string> known;
    const CLI::App* active = &app;
    for (const auto* command : app.get_subcommands()) active = command;
    for (const auto* option : active->get_options()) known.push_back(option->get_name());
    if (active == &app)
        for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
            known.push_back(command->get_name());

    std::string hint;
    const auto left_over = active->remaining();
    if (dynamic_cast<const CLI::ExtrasError*>(&error) && !left_over.empty()) {
        const auto& word = left_over.front();
        hint = suggest(word.substr(0, word.find('=')), known);
        if (hint.empty() && word[0] != '-') hint = "a command to measure goes after '--': tmaprobe -- " + word;
    }
    if (hint.empty()) hint = "tmaprobe " + (active == &app ? "" : active->get_name() + " ") + "--help lists what there is";
    return complain({ErrorCode::bad_usage, error.what(), hint});
}

}  // namespace

int main(int argc, char** argv) {
    if (const auto ready = prepare_process(); !ready) return complain(ready.error());
    if (const char* level = std::getenv("TMAPROBE_LOG")) log::set_level(log::level_named(level));
    CLI::App app{"Where do the pipeline slots go, and what do pages cost: measured where there are counters, "
                 "modelled and marked so where there are none."};
    app.name("tmaprobe");
    app.set_version_flag("--version", "tmaprobe " TMAPROBE_VERSION);
    app.require_subcommand(0, 1);
    int status = 0;
    // What follows "--" is the user's: no option in it is ours.
    const auto dashes = std::find(argv + std::min(argc, 1), argv + argc, std::string_view("--"));
    const std::vector<std::string> command(std::min(dashes + 1, argv + argc), argv + argc);
    add_run_command(app, command, status);
    add_sweep_command(app, status);
    add_pairs_command(app, status);
    add_interference_command(app, status);
    add_compare_command(app, status);
    add_report_command(app, status);
    add_replay_command(app, status);
    add_plan_command(app, status);
    add_doctor_command(app, status);
    add_list_command(app, status);
    refuse_empty_values(app);
    // CLI11 and the standard library throw; nothing else in the project does.
    try {
        app.parse(static_cast<int>(dashes - argv), argv);
    } catch (const CLI::Success& done) {
        std::ostringstream text;  // --help or --version
        app.exit(done, text, text);
        return print(text.str());
    } catch (const CLI::ParseError& error) {
        return complain_about_usage(app, error);
    } catch (const std::bad_alloc&) {
        return complain({ErrorCode::unavailable, "out of memory", "ask for less: --size, --points"});
    } catch (const std::exception& error) {
        return complain({ErrorCode::system, std::string("internal error: ") + error.what(), "please report it"});
    }
    return status;
}

}  // namespace tmaprobe::cli
