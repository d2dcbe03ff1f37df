#include "experiments/setup.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tmaprobe::experiments {
namespace {

bool warns(const record::Record& record, const std::string& id) {
    return std::any_of(record.warnings.begin(), record.warnings.end(), [&](const auto& warning) { return warning.id == id; });
}

TEST(StartRecord, SaysThatTimesInAnEmulatedMachineAreTheEmulators) {
    experiments::Setup setup;
    EXPECT_FALSE(warns(start_record({}, setup), "emulated"));
    setup.host.hypervisor = "KVM";
    EXPECT_FALSE(warns(start_record({}, setup), "emulated"));
    setup.host.hypervisor = "QEMU TCG";
    EXPECT_TRUE(warns(start_record({}, setup), "emulated"));
}

}  // namespace
}  // namespace tmaprobe::experiments
