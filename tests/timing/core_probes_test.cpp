#include "timing/core_probes.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "machine/host.h"

namespace tmaprobe::timing {
namespace {

TEST(CoreProbes, Run) {
    const auto host = machine::detect();
    std::set<std::string_view> names;
    for (const CoreProbe& probe : core_probes()) {
        EXPECT_TRUE(names.insert(probe.fact).second) << probe.fact;
        EXPECT_GE(probe.instructions, probe.steps) << probe.fact;
        if (probe.needs.empty() || machine::has_feature(host, std::string(probe.needs))) probe.run(3);
    }
}

TEST(CoreProbes, BranchesFollowTheDecisions) {
    const std::vector<unsigned char> decisions{1, 0, 0, 1};
    run_branches(decisions.data(), decisions.size(), 1000);  // and ends
}

}  // namespace
}  // namespace tmaprobe::timing
