#include "process/control_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace tmaprobe::process {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class ControlGroups : public testing::Test {
  protected:
    void TearDown() override { fs::remove_all(root_); }
    void group(const fs::path& name, const std::string& processes) const {
        fs::create_directories(root_ / name);
        std::ofstream(root_ / name / "cgroup.procs") << processes;
    }
    const fs::path root_ = fs::temp_directory_path() / ("tmaprobe_groups_" + std::to_string(::getpid()));
};

TEST_F(ControlGroups, OfOneHierarchyWithTheGroupsInThem) {
    group("", "1\n");
    group("web", "30\n12\n" + std::to_string(::getpid()) + "\n0\n");
    group("web/worker", "12\n7\n");
    EXPECT_THAT(processes_of_control_group("web", root_).value_or(std::vector<pid_t>{}), ElementsAre(7, 12, 30));
    EXPECT_THAT(processes_of_control_group("/web/worker", root_).value_or(std::vector<pid_t>{}), ElementsAre(7, 12));
    EXPECT_THAT(processes_of_control_group((root_ / "web/worker").string(), root_).value_or(std::vector<pid_t>{}),
                ElementsAre(7, 12));
}

TEST_F(ControlGroups, OfAHierarchyForEachController) {
    group("cpu/web", "5\n");
    EXPECT_THAT(processes_of_control_group("web", root_).value_or(std::vector<pid_t>{}), ElementsAre(5));
}

TEST_F(ControlGroups, ThatAreNotThereOrEmptyAreErrors) {
    group("empty", "");
    EXPECT_EQ(processes_of_control_group("empty", root_).error().code, ErrorCode::unavailable);
    EXPECT_EQ(processes_of_control_group("nonesuch", root_).error().code, ErrorCode::bad_usage);
    EXPECT_EQ(processes_of_control_group("", root_).error().code, ErrorCode::bad_usage);
}

}  // namespace
}  // namespace tmaprobe::process
