#include "record/json/calibration.h"

#include <gmock/gmock.h>

namespace tmaprobe::record {
namespace {

Calibration example() {
    Calibration calibration;
    calibration.schema = calibration_schema;
    calibration.cpu_id = "GenuineIntel-6-8F-8";
    calibration.clock_hz = 3e9;
    calibration.facts = {{"load.l2", "cycles", 15.2, 15, 16, 7, 0, ""},
                         {"memory.latency", "ns", 130, 110, 190, 1, 6, "the readings differ by 62%"}};
    return calibration;
}

/// The example's text with one piece replaced.
std::string example_with(const std::string& piece, const std::string& other) {
    std::string text = serialize(example());
    const std::size_t at = text.find(piece);
    EXPECT_NE(at, std::string::npos) << piece;
    return text.replace(at, piece.size(), other);
}

TEST(Calibration, IsReadAsItWasWritten) {
    const auto read = parse_calibration(serialize(example()), "c.json");
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(serialize(*read), serialize(example()));
    ASSERT_EQ(read->facts.size(), 2u);
    EXPECT_EQ(read->facts[1].reason, "the readings differ by 62%");
}

TEST(Calibration, WhatIsWrongIsSaid) {
    const std::string whole = serialize(example());
    const std::pair<std::string, const char*> wrong[] = {
        {"", "c.json"},
        {whole.substr(0, whole.size() / 2), "c.json:"},
        {example_with("tmaprobe.calibration/1", "tmaprobe.calibration/9"), "schema"},
        {example_with("\"clock_hz\": ", "\"clock_hz\": -"), "clock_hz"},
        {example_with("15.2", "-15.2"), "load.l2: its value is no positive number"},
        {example_with("15.2", "152"), "load.l2: its value is not between"},
        {example_with("15.2", "null"), "load.l2"},
        {example_with("memory.latency", "load.l2"), "load.l2: it is there twice"},
    };
    for (const auto& [text, said] : wrong) {
        const auto read = parse_calibration(text, "c.json");
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ErrorCode::bad_input);
        EXPECT_THAT(read.error().what, testing::HasSubstr(said));
    }
}

}  // namespace
}  // namespace tmaprobe::record
