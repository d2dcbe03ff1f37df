#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_report_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("report", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "report is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
