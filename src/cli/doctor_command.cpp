#include "cli/commands.h"
#include "cli/options.h"

namespace tmaprobe::cli {

void add_doctor_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("doctor", "not yet");
    command->callback([&status] { status = complain({ErrorCode::unavailable, "doctor is not there yet", {}}); });
}

}  // namespace tmaprobe::cli
