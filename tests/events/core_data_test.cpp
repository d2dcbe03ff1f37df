#include "events/core_data.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/events/scratch_library.h"

namespace tmaprobe::events {
namespace {

using nlohmann::json;

TEST(CoreData, MergesWhatTheFolderNamedHas) {
    const ScratchLibrary scratch(ScratchLibrary::Files{
        {"a/geometry.json", R"({"core": {"llvm_cpu": "one", "slot_width": 4}, "list": [1, 2], "gone": 1})"},
        {"b/geometry.json", R"({"same_as": "a", "core": {"llvm_cpu": "two"}, "list": [3], "gone": null})"}});
    const auto text = read_core_data(scratch.library(), "b", "geometry.json");
    ASSERT_TRUE(text) << text.error().what;
    EXPECT_EQ(json::parse(*text), json::parse(R"({"core": {"llvm_cpu": "two", "slot_width": 4}, "list": [3]})"));
    const auto core = read_core_model(scratch.library(), "b");
    ASSERT_TRUE(core);
    EXPECT_EQ(core->llvm_cpu, "two");
}

TEST(CoreData, FoldersThatNameEachOtherAreAnError) {
    const ScratchLibrary scratch(
        ScratchLibrary::Files{{"a/model.json", R"({"same_as": "b"})"}, {"b/model.json", R"({"same_as": "a"})"}});
    const auto text = read_core_data(scratch.library(), "a", "model.json");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::bad_input);
}

TEST(CoreData, AFolderThatIsNotThereIsNamed) {
    const ScratchLibrary scratch(ScratchLibrary::Files{{"a/model.json", R"({"same_as": "nosuchcpu"})"}});
    const auto text = read_core_data(scratch.library(), "a", "model.json");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::bad_input);
    EXPECT_THAT(text.error().what, testing::HasSubstr("nosuchcpu"));
}

TEST(CoreData, AForeignTreeHasTheEmbeddedCores) {
    const ScratchLibrary scratch(ScratchLibrary::Files{{"a/model.json", "{}"}});
    EXPECT_TRUE(read_core_data(scratch.library(), "haswell", "geometry.json"));
    EXPECT_FALSE(read_core_data(scratch.library(), "nosuchcpu", "geometry.json"));
}

}  // namespace
}  // namespace tmaprobe::events
