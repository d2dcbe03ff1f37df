#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_plan_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("plan", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "plan is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
