#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// The PMU of events that only the model counts: its own facts, "model.slots_backend", ...
inline constexpr std::string_view model_pmu = "model";
inline constexpr std::string_view model_event_prefix = "model.";

/// Whether the table has a top-down tree, be it the vendor's or the model's own. Estimates made of counts are none.
bool has_tree(const Table& table);

/// Whether its tree is this project's own estimate, made of counts, where the vendor publishes none.
bool has_estimated_tree(const Table& table);

/// Whether its tree is the model's own (add_model_tree), not the vendor's.
bool has_model_tree(const Table& table);

/// Adds events/model-tree.json to a table: events of the model's own PMU, a tree of two levels over them, and what is
/// to stand below it, in place of estimates made of counts. Other metrics that the table has under the same name stay
/// the table's.
/// Errors: bad_input for a broken file.
Result<> add_model_tree(const Library& library, Table& table);

/// Takes away this project's own estimates (approximate-tree.json), and what stands below them: they are made of
/// counts.
void remove_own_estimates(Table& table);

/// Names of the metrics that stand below the model's own tree, in the order of the file, translation metrics last;
/// empty where the table has no such tree.
std::vector<std::string> below_model_tree(const Table& table);

}  // namespace tmaprobe::events
