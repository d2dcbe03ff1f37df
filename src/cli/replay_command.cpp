#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_replay_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("replay", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "replay is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
