#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_sweep_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("sweep", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "sweep is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
