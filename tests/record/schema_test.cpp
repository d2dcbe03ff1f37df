// docs/record.schema.json is what the descriptions say. After a change that is meant, TMAPROBE_UPDATE_GOLDEN=1 writes
// it; read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "record/json/file.h"

namespace tmaprobe::record {
namespace {

using nlohmann::json;

TEST(Schema, IsTheOneInTheDocs) {
    const char* const path = TMAPROBE_SOURCE_DIR "/docs/record.schema.json";
    if (std::getenv("TMAPROBE_UPDATE_GOLDEN")) ASSERT_TRUE(write_file(path, schema()));
    const auto in_docs = read_file(path);
    ASSERT_TRUE(in_docs) << in_docs.error().what;
    EXPECT_EQ(*in_docs, schema());
}

/// Every key has a meaning and a type, and no section is merely an object.
void expect_described(const json& part, const std::string& path) {
    const json properties = part.value("properties", json::object());
    for (const auto& [key, value] : properties.items()) {
        const std::string here = path + "/" + key;
        EXPECT_FALSE(value.value("description", "").empty()) << here;
        const bool typed =
            value.contains("type") || value.contains("enum") || value.contains("$ref") || value.contains("anyOf");
        EXPECT_TRUE(typed) << here;
        if (value.contains("type") && value["type"] == "object")
            EXPECT_TRUE(value.contains("additionalProperties")) << here;
        if (value.contains("type") && value["type"] == "array") EXPECT_TRUE(value.contains("items")) << here;
        EXPECT_FALSE(value.dump().find("\"items\":{\"type\":\"object\"}") != std::string::npos) << here;
    }
}

TEST(Schema, DescribesEveryKeyOfEverySection) {
    const json whole = json::parse(schema());
    expect_described(whole, "");
    EXPECT_GT(whole["$defs"].size(), 30u);
    for (const auto& [name, definition] : whole["$defs"].items()) {
        EXPECT_FALSE(definition.value("description", "").empty()) << name;
        EXPECT_FALSE(definition["properties"].empty()) << name;
        expect_described(definition, name);
    }
}

}  // namespace
}  // namespace tmaprobe::record
