// Records as JSON: the only place of the program where a record is anything else than its types.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace tmaprobe::record {

/// Reads a record, an array of records, or JSON Lines with one record a line (lines that serialize_lines made of one
/// record become one again). A null number reads as NaN: it is not known. Keys that this version does not know are
/// passed over. Errors: bad_input with line and column for what is no JSON; with the key's path for another schema, a
/// missing key, a wrong type or a name that no enumeration has.
Result<std::vector<Record>> read_records(const std::filesystem::path& path);

/// The same from text; `name` stands for the file in errors.
Result<std::vector<Record>> parse_records(std::string_view text, const std::string& name);

/// The text of a record file: JSON, indented by one space, one newline at the end. Always valid against
/// docs/record.schema.json: text that is not UTF-8 is replaced, a number that JSON cannot hold becomes null, and a
/// metric whose value is one becomes unavailable with the reason.
std::string serialize(const Record& record);

/// A record, or an array of several.
std::string serialize(const std::vector<Record>& records);

/// JSON Lines: each run on a line of its own, as a record that has this run alone. A record of several
/// runs says in "part" {"index", "of"} which it was.
std::string serialize_lines(const Record& record);

/// Comparisons as `compare --json` writes them: {"schema", "comparison": what record.extra.comparison holds}.
std::string serialize(const std::vector<Comparison>& comparisons);
/// One of them a line.
std::string serialize_lines(const std::vector<Comparison>& comparisons);

/// The text of docs/record.schema.json, made from the same descriptions as the reader and the writers.
std::string schema();

}  // namespace tmaprobe::record
