#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_pairs_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("pairs", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "pairs is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
