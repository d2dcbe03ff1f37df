#pragma once

#include <string>
#include <vector>

#include "counters/plan.h"
#include "events/table.h"

namespace tmaprobe::counters {

/// The perf stat command that counts one pass elsewhere, as words; the measured command is not among them.
/// Events are spelt by encoding, which every perf version takes; topdown events by the kernel's names.
std::vector<std::string> perf_stat_command(const events::Table& table, const Pass& pass,
                                           const std::string& output_file);

}  // namespace tmaprobe::counters
