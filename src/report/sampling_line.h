#pragma once

#include <optional>
#include <string>

#include "record/record.h"

namespace tmaprobe::report {

/// An event of a node's formula that can be sampled to find the code behind the node: the more of it, the larger the
/// node, and among those the one that moves it most. Null: there is none; cycles and slots are everywhere.
const record::Event* event_to_sample(const record::Run& run, const record::Metric& node);

/// The `perf record` line that samples the event in what was measured, to be pasted into a shell.
std::string sampling_line(const record::Record& record, const record::Run& run, const record::Event& event);

}  // namespace tmaprobe::report
