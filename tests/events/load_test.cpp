#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "events/table.h"
#include "metrics/formulas.h"

namespace tmaprobe::events {
namespace {

using testing::HasSubstr;

/// A tree of tables in a temporary folder, removed at the end.
class Tree : public testing::Test {
  protected:
    Tree() : root_(std::filesystem::temp_directory_path() / ("tmaprobe-load-" + std::to_string(::getpid()))) {
        std::filesystem::remove_all(root_);
        write("mapfile.csv",
              "# a "
              "comment\nFamily-model,Version,Filename,EventType\nGenuineIntel-6-55,v1,cpu,core\nGenuineIntel-6-[5X].,"
              "v1,cpu,uncore\n");
    }
    ~Tree() override { std::filesystem::remove_all(root_); }
    void write(const std::string& path, const std::string& text) {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    Result<Table> load_cpu() { return load(Library{root_}, "GenuineIntel-6-55-4"); }
    std::string problem() {
        const auto table = load_cpu();
        return table ? "" : table.error().what;
    }
    std::filesystem::path root_;
};

TEST_F(Tree, LoadsAnUpstreamFile) {
    write("cpu/pipeline.json",
          R"([{"EventName": "A.B", "EventCode": "0x9c", "UMask": "0x1", "CounterMask": "2", "Counter": "0,1"},
        {"MetricName": "tma_frontend_bound", "MetricExpr": "A.B / 4", "MetricGroup": "TopdownL1", "ScaleUnit": "100%"},
        {"MetricName": "mine", "MetricExpr": "1", "MetricGroup": "X;TopdownL2;tma_frontend_bound_group"}])");
    write("cpu/metricgroups.json", R"({"TopdownL1": "words"})");
    const auto table = load_cpu();
    ASSERT_TRUE(table) << table.error().what;
    EXPECT_EQ(table->folder, "cpu");
    EXPECT_EQ(table->events.at(0).config, 0x200019cu);
    EXPECT_EQ(table->metrics.at(0).category, "frontend");
    // Placed by its groups, as no list of this project knows it.
    EXPECT_EQ(table->metrics.at(1).level, 2);
    EXPECT_EQ(table->metrics.at(1).parent, "tma_frontend_bound");
    EXPECT_EQ(table->metrics.at(1).category, "frontend");
}

TEST_F(Tree, ResolvesStandardEventsOfAnArchitecture) {
    std::filesystem::remove(root_ / "mapfile.csv");
    write("arm64/mapfile.csv", "0x00000000410fd490,v1,arm/mine,core\n");
    write("arm64/std.json", R"([{"EventName": "CPU_CYCLES", "EventCode": "0x11", "BriefDescription": "words"}])");
    write("arm64/arm/mine/e.json", R"([{"ArchStdEvent": "CPU_CYCLES"}])");
    const auto table = load(Library{root_}, "mine");
    ASSERT_TRUE(table) << table.error().what;
    EXPECT_EQ(table->events.at(0).config, 0x11u);
    EXPECT_EQ(table->events.at(0).name, "CPU_CYCLES");
    EXPECT_EQ(table->format, PmuFormat::arm);
    write("arm64/arm/mine/e.json", R"([{"ArchStdEvent": "NO_SUCH"}])");
    EXPECT_THAT(load(Library{root_}, "mine").error().what,
                HasSubstr("e.json:1:19: NO_SUCH: the architecture has no standard event"));
}

TEST_F(Tree, NamesThePlaceOfWhatIsBroken) {
    write("cpu/a.json", "[\n {\"EventName\": \"A\",\n");
    EXPECT_THAT(problem(), HasSubstr("a.json:3:1: not valid JSON: the text ends too early"));
    write("cpu/a.json", "[\n {\"EventName\": A}]");
    EXPECT_THAT(problem(), HasSubstr("a.json:2:16"));
    write("cpu/a.json", "[\n {\"EventName\": \"A\", \"EventCode\": \"zebra\"}]");
    EXPECT_THAT(problem(), HasSubstr("a.json:2:16: A: EventCode: 'zebra' is not a number"));
    write("cpu/a.json", "[{\"EventName\": \"A\", \"UMask\": \"0x1ffff\"}]");
    EXPECT_THAT(problem(), HasSubstr("umask=0x1ffff does not fit"));
    write("cpu/a.json", "[{\"EventName\": \"A\", \"UMask\": [1]}]");
    EXPECT_THAT(problem(), HasSubstr("UMask is neither text nor a number"));
    write("cpu/a.json", "[{\"MetricName\": \"m\"}]");
    EXPECT_THAT(problem(), HasSubstr("MetricExpr is missing"));
    write("cpu/a.json",
          "[{\"MetricName\": \"n\", \"MetricExpr\": \"1\"},\n {\"MetricName\": \"m\", \"MetricExpr\": \"1 +\"}]");
    EXPECT_THAT(problem(), HasSubstr("a.json:2:17: m: MetricExpr: expected a value, found the end at column 4"));
    write("cpu/a.json", "[{\"MetricName\": \"m\", \"MetricExpr\": \"1\", \"MetricThreshold\": \"m > \"}]");
    EXPECT_THAT(problem(), HasSubstr("a.json:1:17: m: MetricThreshold: expected a value"));
    write("cpu/a.json", "[1]");
    EXPECT_THAT(problem(), HasSubstr("an element is not an object"));
    write("cpu/a.json", "\"text\"");
    EXPECT_THAT(problem(), HasSubstr("not an array"));
    write("cpu/a.json", "[{\"EventName\": \"\xff\"}]");
    EXPECT_THAT(problem(), HasSubstr("a.json:1:"));
    write("cpu/a.json", std::string(200'000, '['));
    EXPECT_THAT(problem(), HasSubstr("a.json:1:"));
    write("cpu/a.json", "[]");
    EXPECT_THAT(problem(), HasSubstr("no events and no metrics"));
    write("mapfile.csv", "# x\nGenuineIntel-6-55\n");
    EXPECT_THAT(problem(), HasSubstr("mapfile.csv:2:1: expected 4 columns"));
    write("mapfile.csv", "# x\n\nGenuine\xffIntel-6-55,v1,cpu,core\n");
    EXPECT_THAT(problem(), HasSubstr("mapfile.csv:3:8: a byte that no CPU id"));
    write("mapfile.csv", "GenuineIntel-6-5[5,v1,other,core\nGenuineIntel-6-55,v1,cpu,core\n");
    EXPECT_THAT(problem(), HasSubstr("mapfile.csv:1:1: 'GenuineIntel-6-5[5' is no pattern"));
    write("mapfile.csv", "GenuineIntel-6-55,v1,../../etc,core\n");
    EXPECT_THAT(problem(), HasSubstr("lies outside"));
}

TEST_F(Tree, RefusesWhatIsNoTree) {
    EXPECT_THAT(load(Library{"/proc/self/fd"}, "x").error().what, HasSubstr("no mapfile.csv"));
    EXPECT_THAT(load(Library{root_ / "missing"}, "x").error().what, HasSubstr("no mapfile.csv"));
    std::filesystem::remove(root_ / "mapfile.csv");
    std::filesystem::create_directories(root_ / "mapfile.csv");
    EXPECT_EQ(load_cpu().error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace tmaprobe::events
