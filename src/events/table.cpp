#include "events/table.h"

namespace tmaprobe::events {

Result<Table> load(const Library&, std::string_view) { return fail(ErrorCode::bad_usage, "no tables"); }
Result<std::vector<std::string>> targets(const Library&) { return std::vector<std::string>{}; }
Result<std::string> read_data(const Library&, std::string_view) { return fail(ErrorCode::unavailable, "no data"); }
Result<EventDefinition> resolve(const Table&, std::string_view) { return fail(ErrorCode::bad_usage, "no events"); }

}  // namespace tmaprobe::events
