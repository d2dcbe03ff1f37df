#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace tmaprobe::cli {

// Each command lives in <name>_command.cpp. Adding one to the application registers its options and a
// callback that does the work and leaves the exit status in `status`.

/// The main job, without a command word: a kernel, or the user's `command`, which is known when
/// the words are read; it must outlive `app`.
void add_run_command(CommandLine app, const std::vector<std::string>& command, int& status);

/// Which code takes the slots: of a kernel, or of the user's `command`.
void add_where_command(CommandLine app, const std::vector<std::string>& command, int& status);

/// What changes of the machine would win for a kernel, for the user's `command`, or for a saved trace.
void add_what_if_command(CommandLine app, const std::vector<std::string>& command, int& status);

/// A repeatable cost of the user's `command`, held against a baseline.
void add_gate_command(CommandLine app, const std::vector<std::string>& command, int& status);

void add_sweep_command(CommandLine app, int& status);
void add_pairs_command(CommandLine app, int& status);
void add_replay_command(CommandLine app, int& status);
void add_plan_command(CommandLine app, int& status);
void add_compare_command(CommandLine app, int& status);
void add_report_command(CommandLine app, int& status);
void add_doctor_command(CommandLine app, int& status);
void add_list_command(CommandLine app, int& status);
void add_calibrate_command(CommandLine app, int& status);
void add_interference_command(CommandLine app, int& status);

}  // namespace tmaprobe::cli
