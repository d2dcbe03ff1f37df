#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_interference_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("interference", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "interference is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
