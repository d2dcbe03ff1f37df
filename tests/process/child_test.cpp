#include "process/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tmaprobe::process {
namespace {

TEST(Child, WaitsUntilItIsReleased) {
    auto child = Child::start([&](int output) { static_cast<void>(!::write(output, "x", 1)); });
    ASSERT_TRUE(child);
    ::usleep(50'000);
    EXPECT_TRUE(child->alive());
    child->release();
    char byte = 0;
    EXPECT_EQ(::read(child->output(), &byte, 1), 1);
    for (int tries = 0; child->alive() && tries < 200; ++tries) ::usleep(10'000);
    EXPECT_EQ(child->how(), "exit status 0");
}

}  // namespace
}  // namespace tmaprobe::process
