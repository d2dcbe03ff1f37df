#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// An architecture's standard events and metrics by lower-case name, to which rows refer by ArchStdEvent.
struct StandardRows {
    std::map<std::string, json::Value, std::less<>> rows;
    std::vector<json::Document> documents;  ///< that the rows are of
};

/// One JSON file of a CPU's folder, or of an architecture's root.
struct TableFile {
    std::string label;  ///< for messages
    std::string text;
};

/// Appends the file's events and metrics to the table, encoded for table.format. Rows that are neither are
/// passed over, as are files that hold an object (upstream's metricgroups.json).
/// `standard` is asked only for rows that name an ArchStdEvent.
/// Errors: bad_input with file, line and column.
Result<> read_table_file(const TableFile& file, const StandardRows& standard, Table& table);

/// Adds the file's rows to the standard ones. Errors: as read_table_file.
Result<> read_standard_file(const TableFile& file, StandardRows& standard);

/// The events that the kernel itself names on CPUs of the table's format. Errors: as read_table_file.
Result<> read_kernel_events(const TableFile& file, Table& table);

std::string lower_case(std::string_view text);

}  // namespace tmaprobe::events
