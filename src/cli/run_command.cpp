#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_run_command(CLI::App& app, int& status) {
    app.callback([&status, &app] { if (app.get_subcommands().empty()) status = complain({ErrorCode::unavailable, "not yet", {}}); });
}

}  // namespace tmaprobe::cli
