#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_compare_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("compare", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "compare is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
