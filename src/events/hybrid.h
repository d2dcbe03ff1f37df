#pragma once

#include <string>

#include "events/table.h"

namespace tmaprobe::events {

/// The expression with the PMU written before every event that stands there by its bare name: on a hybrid
/// the same name means another event on each PMU, and counts are told apart by spelling.
std::string with_pmu(const std::string& text, const std::string& pmu, const Table& table);

}  // namespace tmaprobe::events
