#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_list_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("list", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "list is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
