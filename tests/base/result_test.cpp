#include "base/result.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/fd.h"

namespace tmaprobe {
namespace {

TEST(ExitStatus, BadUsageAndInputAreTwoTheRestOne) {
    EXPECT_EQ(exit_status({ErrorCode::bad_usage, "", ""}), 2);
    EXPECT_EQ(exit_status({ErrorCode::bad_input, "", ""}), 2);
    for (const auto code :
         {ErrorCode::unavailable, ErrorCode::no_permission, ErrorCode::system, ErrorCode::interrupted})
        EXPECT_EQ(exit_status({code, "", ""}), 1);
}

TEST(FailErrno, RefusalsAreToldApart) {
    const Result<> refused = fail_errno(EACCES, "open x");
    EXPECT_EQ(refused.error().code, ErrorCode::no_permission);
    const Result<> full = fail_errno(ENOSPC, "write x");
    EXPECT_EQ(full.error().code, ErrorCode::system);
    EXPECT_EQ(full.error().what, "write x: No space left on device");
}

TEST(Fd, ClosesOnceAndMoves) {
    int number = -1;
    {
        Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        number = first.get();
        const Fd second(std::move(first));
        EXPECT_FALSE(first);  // NOLINT: a moved-from Fd is empty by contract
        EXPECT_EQ(second.get(), number);
        EXPECT_GE(::fcntl(number, F_GETFD), 0);
    }
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace tmaprobe
