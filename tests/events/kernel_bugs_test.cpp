#include "events/kernel_bugs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace tmaprobe::events {
namespace {

using machine::parse_kernel_version;

std::map<std::string, KernelBug> known() {
    const auto bugs = kernel_bugs({});
    EXPECT_TRUE(bugs.has_value()) << bugs.error().what;
    std::map<std::string, KernelBug> by_id;
    for (const auto& bug : bugs.value_or(std::vector<KernelBug>{})) by_id[bug.id] = bug;
    return by_id;
}

TEST(KernelBugs, EachIsInTheVersionsThatHaveItAndNoOthers) {
    struct Versions {
        std::vector<const char*> with, without;
    };
    const std::map<std::string, Versions> expected = {
        {"kernel_topdown_bug",
         {{"5.13", "5.17.5", "5.18", "6.2.16", "6.4.1"},
          {"5.1.3", "5.14", "5.19", "6.1.76", "6.3", "6.20", "6.45", "5.130"}}},
        {"kernel_hidden_topdown",
         {{"5.10", "5.15.131", "6.1.119", "6.6.50", "6.10.9"}, {"5.9", "6.1.120", "6.10.10", "6.11"}}},
        {"kernel_counting_refused",
         {{"6.1.130", "6.1.135", "6.12.22", "6.13.6", "6.14", "6.14.4"},
          {"6.1.129", "6.1.136", "6.12.26", "6.14.5", "6.15"}}},
        {"kernel_child_time",
         {{"5.13", "5.15", "6.1.184", "6.12.22", "6.14.1", "6.15.2"},
          {"5.12.9", "6.1.185", "6.12.23", "6.14.2", "6.16"}}},
        {"kernel_context_time",
         {{"5.15.19", "5.15.104", "5.16.5", "5.17", "6.1.21", "6.2.8"},
          {"5.15.18", "5.15.105", "6.1.22", "6.2.9", "6.3"}}},
        {"kernel_cpu_clock", {{"6.16", "6.17", "6.17.9"}, {"6.15.9", "6.17.10", "6.18"}}},
    };
    const auto bugs = known();
    for (const auto& [id, bug] : bugs) EXPECT_TRUE(expected.contains(id)) << id << " has no expectation here";
    for (const auto& [id, versions] : expected) {
        ASSERT_TRUE(bugs.contains(id)) << id;
        for (const char* version : versions.with)
            EXPECT_TRUE(has_bug(parse_kernel_version(version), bugs.at(id))) << id << " " << version;
        for (const char* version : versions.without)
            EXPECT_FALSE(has_bug(parse_kernel_version(version), bugs.at(id))) << id << " " << version;
        EXPECT_FALSE(has_bug({}, bugs.at(id))) << "an unknown version";
    }
}

TEST(KernelBugs, AskForWhatIsKnownAndSayWhatToDo) {
    const std::set<std::string> things{"pmu", "perf_metrics", "virtual_machine"};
    for (const auto& [id, bug] : known()) {
        EXPECT_FALSE(bug.what.empty() || bug.hint.empty() || bug.affects.empty()) << id;
        for (const auto& [from, until] : bug.affects) EXPECT_LT(from, until) << id;
        for (const auto& need : bug.needs) EXPECT_TRUE(things.contains(need)) << id << " needs " << need;
    }
}

TEST(KernelBugs, ABrokenFileIsNamed) {
    const auto folder = std::filesystem::temp_directory_path() / ("tmaprobe-bugs-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "kernel-bugs.json") << R"([{"id": "x", "what": "y"}])";
    const auto bugs = kernel_bugs({folder});
    std::filesystem::remove_all(folder);
    ASSERT_FALSE(bugs.has_value());
    EXPECT_EQ(bugs.error().code, ErrorCode::bad_input);
    EXPECT_NE(bugs.error().what.find("kernel-bugs.json"), std::string::npos) << bugs.error().what;
}

}  // namespace
}  // namespace tmaprobe::events
