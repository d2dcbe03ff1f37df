#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// How messages call a file of the library: "events/mapfile.csv" when it is embedded.
std::string label_of(const Library& library, std::string_view relative_path);

/// The file's content, or nothing when it is not there. Errors: bad_input when it cannot be read.
Result<std::optional<std::string>> read_if_there(const Library& library, std::string_view relative_path);

/// Names of the files directly in a folder ("" = the root), sorted.
/// Errors: bad_input when the directory given by --events cannot be read.
Result<std::vector<std::string>> files_in(const Library& library, std::string_view folder);

/// One row of a mapfile.csv.
struct MapRow {
    std::string pattern;  ///< of CPU ids; see metrics::cpuid_matches
    std::string version;
    std::string folder;  ///< relative to the library's root: "cascadelakex", "x86/skylakex"
    std::string root;    ///< where the mapfile lies: "" or "x86/"
};

/// Rows for core PMUs of the root's mapfile.csv, or of those one folder below (a `pmu-events/arch` tree),
/// in file order. Errors: bad_input for a row with too few columns or a pattern that is none (file and line), and for a
/// directory without any mapfile.
Result<std::vector<MapRow>> read_map(const Library& library);

/// Splits rows of one mapfile; `root` as in MapRow. The embedded map's patterns need no check, which takes longer
/// than all else. Errors: as read_map.
Result<std::vector<MapRow>> parse_map(std::string_view label, std::string_view text, std::string_view root,
                                      bool check_patterns = true);

/// The table's own event of this name, whatever its case, without asking libpfm4; null when it has none. Of a hybrid's
/// PMUs cpu_core's comes first.
const EventDefinition* find_event(const Table& table, std::string_view name);

}  // namespace tmaprobe::events
