#include "report/writers.h"

namespace tmaprobe::report {

Result<std::string> render(const std::vector<record::Record>&, const std::string& format) {
    return fail(ErrorCode::bad_usage, "no format is called '" + format + "'");
}
std::vector<std::string> writer_formats() { return {}; }

}  // namespace tmaprobe::report
