#include "report/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/json/file.h"
#include "report/formats.h"

namespace tmaprobe::report {
namespace {

using ::testing::HasSubstr;

record::Record loaded(const std::string& name) {
    auto records = record::read_records(TMAPROBE_SOURCE_DIR "/tests/report/records/" + name + ".json");
    EXPECT_TRUE(records);
    return records->front();
}

TEST(Answers, OfAnExperimentThatTimesAreSentencesThatEnd) {
    record::Record record = loaded("sweep_pages");
    record.extra.verdicts = {"4k: x2 from 32K", "Of the cache half stays"};
    const auto all = answers(record);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_THAT(all[0], HasSubstr("4k: x2 from 32K. Of the cache half stays. "));
    EXPECT_THAT(all[0], HasSubstr(". Time is measured; counts: "));
}

TEST(Answers, StandBeforeEveryTableInMarkdownAndTheSourceAfterIt) {
    for (const char* name : {"sha256_modelled", "chase_pages", "sweep_pages", "pairs", "interference", "replay_deep"}) {
        const auto record = loaded(name);
        const std::string text = write_markdown({record});
        const auto answer = text.find("**"), table = text.find("\n| "), source = text.find("\nHost: ");
        EXPECT_LT(text.find("\n## "), answer) << name;
        EXPECT_LT(answer, table) << name;
        EXPECT_LT(table, source) << name;
        EXPECT_NE(source, text.npos) << name;
    }
}

TEST(Answers, NameThePagesOfOneRun) { EXPECT_THAT(subject_of(loaded("chase_4k")), HasSubstr(", pages 4k")); }

}  // namespace
}  // namespace tmaprobe::report
