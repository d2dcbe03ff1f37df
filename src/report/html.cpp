#include "report/formats.h"

namespace tmaprobe::report {

bool html_built() { return false; }

Result<std::string> write_html(const Records&) {
    return fail(ErrorCode::unavailable, "this build has no HTML report: npm was missing when it was built",
                "install npm, then configure and build again");
}

}  // namespace tmaprobe::report
