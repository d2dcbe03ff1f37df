#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace tmaprobe {

namespace {

/// What helps against limits that any call may meet.
std::string usual_remedy(int error_number) {
    if (error_number == EMFILE) return "too few files may be open at once; raise the limit: ulimit -n 1024";
    if (error_number == ENFILE) return "the whole system has too many files open: see fs.file-max";
    if (error_number == ENOSPC) return "free some space there, or write elsewhere";
    return {};
}

}  // namespace

tl::unexpected<Error> fail_errno(int error_number, const std::string& what, std::string hint) {
    if (hint.empty()) hint = usual_remedy(error_number);
    const bool refused = error_number == EACCES || error_number == EPERM;
    return fail(refused ? ErrorCode::no_permission : ErrorCode::system,
                what + ": " + std::generic_category().message(error_number), std::move(hint));
}

int exit_status(const Error& error) {
    return error.code == ErrorCode::bad_usage || error.code == ErrorCode::bad_input ? 2 : 1;
}

}  // namespace tmaprobe
