#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace tmaprobe {

tl::unexpected<Error> fail_errno(int error_number, const std::string& what, std::string hint) {
    const bool refused = error_number == EACCES || error_number == EPERM;
    return fail(refused ? ErrorCode::no_permission : ErrorCode::system,
                what + ": " + std::generic_category().message(error_number), std::move(hint));
}

int exit_status(const Error& error) {
    return error.code == ErrorCode::bad_usage || error.code == ErrorCode::bad_input ? 2 : 1;
}

}  // namespace tmaprobe
