#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/plan.h"
#include "events/table.h"
#include "metrics/evaluate.h"
#include "model/core/simulate.h"

namespace tmaprobe::model {

/// Pipeline and memory facts of a simulated window, by the names of docs/model.md.
using Facts = std::map<std::string, double, std::less<>>;

/// One event of a CPU in terms of facts: the sum of coefficient * fact.
struct MappedEvent {
    std::string name;
    std::uint64_t config = 0, config1 = 0;
    bool encoded = false;  ///< these are known
    std::vector<std::pair<std::string, double>> terms;
};

/// A CPU's events as the model counts them, from events/<folder>/model.json.
struct Mapping {
    std::vector<MappedEvent> events;
    std::map<std::string, std::string, std::less<>> reasons;  ///< why an event is not modelled, by name
};

/// Reads the folder's model.json; events are known by name and, through the table, by encoding.
/// Errors: unavailable when the folder has none; bad_input for a malformed one.
Result<Mapping> load_mapping(const events::Library& library, const events::Table& table);

/// The deepest level of the table's tree down to which every node can be computed from the model's counterparts of its
/// events, but for those that it leaves out with a reason; 0: not even the first. Errors: as load_mapping.
Result<int> levels_modelled(const events::Library& library, const events::Table& table,
                            const metrics::Constants& constants);

/// Why facts' names in a mapping cannot be trusted: names that `known` does not have.
std::vector<std::string> unknown_facts(const Mapping& mapping, const Facts& known);

/// One event's count from the facts. False when the mapping does not have it, and `why` says so.
bool modelled_count(const Mapping& mapping, const counters::PlannedEvent& event, const Facts& facts, double& value,
                    std::string& why);

}  // namespace tmaprobe::model
