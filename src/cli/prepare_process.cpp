#include "cli/prepare_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "base/sizes.h"

namespace tmaprobe::cli {
namespace {

/// The lowest free number is the one that is missing. What is written to a standard output that was closed
/// must still fail; nobody misses what goes to such a standard error.
void open_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(descriptor, F_GETFD) < 0)
            static_cast<void>(::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY));
}

}  // namespace

Result<> prepare_process() {
    open_standard_descriptors();
    // A handler, not SIG_IGN: a measured command must not inherit it.
    std::signal(SIGXFSZ, [](int) {});
    constexpr rlim_t least_stack = 256 << 10;  // half of it was seen to be used
    rlimit stack{};
    if (::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < least_stack)
        return fail(
            ErrorCode::unavailable,
            "the stack is limited to " + format_size(stack.rlim_cur) + "; tmaprobe needs " + format_size(least_stack),
            "raise the limit: ulimit -s 8192");
    return {};
}

}  // namespace tmaprobe::cli
