#pragma once

#include <string>

#include "events/table.h"
#include "record/event_key.h"

namespace tmaprobe::events {

using record::EventKey;

EventKey key_of(const Table& table, const EventDefinition& event);

/// The privilege levels among the event's modifiers, "u", "k", "h", and "G" where guests alone are meant, in this
/// order; "" when none is named.
std::string privilege_of(const EventDefinition& event);

/// "cpu" and "armv8_pmuv3_0" are what a table writes as ""; other names stay.
std::string canonical_pmu(const Table& table, const std::string& pmu);

}  // namespace tmaprobe::events
