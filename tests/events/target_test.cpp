#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "events/table.h"

namespace tmaprobe::events {
namespace {

TEST(Target, EveryCpuIdFindsItsFolder) {
    std::ifstream file(std::string(TMAPROBE_SOURCE_DIR) + "/tests/data/cpu_ids.json");
    const auto ids = nlohmann::json::parse(file);
    EXPECT_GT(ids.size(), 60u);
    for (const auto& [id, folder] : ids.items()) {
        const auto table = load(Library{}, id);
        ASSERT_TRUE(table) << id << ": " << table.error().what;
        EXPECT_EQ(table->folder, folder.get<std::string>()) << id;
        EXPECT_FALSE(table->title.empty()) << id;
    }
}

TEST(Target, CpusOfOneFolderHaveTheirOwnTitleAndWidth) {
    const auto n2 = load(Library{}, "0x00000000410fd490"), v2 = load(Library{}, "0x00000000410fd4f0");
    ASSERT_TRUE(n2 && v2);
    EXPECT_EQ(n2->title, "Neoverse N2");
    EXPECT_EQ(v2->title, "Neoverse V2");
    EXPECT_EQ(n2->slots_per_cycle, 5);
    EXPECT_EQ(v2->slots_per_cycle, 8);
}

TEST(Target, ShortNamesFindTheFolderWhateverTheirCase) {
    for (const auto& [name, folder] : {std::pair{"skx", "skylakex"},
                                       {"CLX", "cascadelakex"},
                                       {"Zen4", "amdzen4"},
                                       {"bdw_ep", "broadwellx"},
                                       {"n1", "neoverse-n1"}}) {
        const auto table = load(Library{}, name);
        ASSERT_TRUE(table) << name << ": " << table.error().what;
        EXPECT_EQ(table->folder, folder);
        EXPECT_EQ(table->cpu_id, folder);
    }
}

TEST(Target, AShortNameOfOneCpuOfAFolderMeansThatCpu) {
    const auto table = load(Library{}, "neoverse-v2");
    ASSERT_TRUE(table) << table.error().what;
    EXPECT_EQ(table->cpu_id, "0x00000000410fd4f0");
    EXPECT_EQ(table->slots_per_cycle, 8);
}

TEST(Target, AnUnknownCpuIsNamedWithAHint) {
    for (const char* id :
         {"GenuineIntel-6-0-0", "AuthenticAMD-22-1-1", "0x0000000041ffffff", "cascadelakes", "skx::", ""}) {
        const auto table = load(Library{}, id);
        ASSERT_FALSE(table) << id;
        EXPECT_EQ(table.error().code, ErrorCode::bad_usage) << id;
        EXPECT_FALSE(table.error().hint.empty()) << id;
    }
}

}  // namespace
}  // namespace tmaprobe::events
