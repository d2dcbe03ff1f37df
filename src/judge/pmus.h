#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::judge {

/// The PMUs of a hybrid on which something was counted, larger cores first; the first one with events
/// where nothing was; one empty name on other machines. Each has a tree of its own: "cpu_core", "cpu_atom".
std::vector<std::string> pmus_of(const std::vector<record::Event>& events);

/// The events of one hybrid PMU and those of none (software, ...); all of them for "".
std::vector<record::Event> events_on(const std::vector<record::Event>& events, const std::string& pmu);

}  // namespace tmaprobe::judge
