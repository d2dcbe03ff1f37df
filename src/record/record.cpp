#include "record/record.h"

namespace tmaprobe::record {

nlohmann::json to_json(const Record& record) { return {{"schema", schema_name}, {"experiment", record.experiment}}; }
Result<Record> from_json(const nlohmann::json&) { return fail(ErrorCode::bad_input, "not a record"); }
Result<std::vector<Record>> read_records(const std::filesystem::path&) { return std::vector<Record>{}; }
std::string serialize(const Record& record) { return to_json(record).dump(1) + "\n"; }

}  // namespace tmaprobe::record
