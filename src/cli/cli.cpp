#include "cli/cli.h"

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/prepare_process.h"

namespace tmaprobe::cli {
int main(int argc, char** argv) {
    if (const auto ready = prepare_process(); !ready) return complain(ready.error());
    if (const char* level = std::getenv("TMAPROBE_LOG")) log::set_level(log::level_named(level));
    Application application(
        "tmaprobe",
        "Where do the pipeline slots go, and what do pages cost: measured where there are counters, "
        "modelled and marked so where there are none",
        "tmaprobe " TMAPROBE_VERSION, {argv + std::min(argc, 1), argv + argc});
    std::vector<std::string> command;  // the user's, to be measured: no option in it is ours
    const CommandLine app = application.command_line();
    int status = 0;
    add_run_command(app, command, status);
    add_where_command(app, command, status);
    add_what_if_command(app, command, status);
    add_gate_command(app, command, status);
    add_sweep_command(app, status);
    add_pairs_command(app, status);
    add_interference_command(app, status);
    add_calibrate_command(app, status);
    add_compare_command(app, status);
    add_report_command(app, status);
    add_replay_command(app, status);
    add_plan_command(app, status);
    add_doctor_command(app, status);
    add_list_command(app, status);
    command = application.take_measured_command();
    const auto parsed = application.parse();
    if (!parsed) return complain(parsed.error());
    if (!parsed->text.empty()) return print(parsed->text);
    return status;
}

}  // namespace tmaprobe::cli
