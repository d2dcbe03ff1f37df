#include "report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/text.h"

namespace tmaprobe::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Two commands with as many metrics as a deep tree has.
record::Comparison compared_commands() {
    record::Comparison comparison;
    comparison.before = "before.json";
    comparison.after = "after.json";
    comparison.subject = "./my-program args";
    comparison.what = "12.0% less time per command, with 95% confidence.";
    comparison.time = record::ComparedTime{.before_ns = 1e9,
                                           .after_ns = 0.88e9,
                                           .ratio = 0.88,
                                           .low = 0.86,
                                           .high = 0.9,
                                           .confidence = 0.95,
                                           .differs = true,
                                           .judged = true,
                                           .before_repetitions = 10,
                                           .after_repetitions = 10};
    for (int i = 0; i < 80; ++i) {
        record::ComparedMetric metric;
        metric.name = "metric_" + std::to_string(i);
        metric.level = i < 4 ? 1 : 2 + i % 3;
        metric.before = 0.1;
        metric.after = 0.1 + 0.001 * i;
        metric.beyond_bounds = i > 5;
        comparison.metrics.push_back(metric);
    }
    comparison.notes = {"their counts come from different sources (perf and model)"};
    return comparison;
}

TEST(Comparison, OfTwoCommandsIsOneScreen) {
    const std::string text = render_comparisons({compared_commands()}, {});
    EXPECT_LE(std::ranges::count(text, '\n'), 24);
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
        end = text.find('\n', at);
        EXPECT_LE(width_of(text.substr(at, end - at)), 80u);
    }
    EXPECT_THAT(text, HasSubstr("more metrics: -v"));
}

TEST(Comparison, SaysWhatWasComparedAndTheAnswerBeforeTheTable) {
    const std::string text = render_comparisons({compared_commands()}, {});
    EXPECT_LT(text.find("./my-program args"), text.find("12.0% less time"));
    EXPECT_LT(text.find("12.0% less time"), text.find("time per operation"));
}

TEST(Comparison, TheLargestDifferencesKeepTheirRows) {
    const std::string text = render_comparisons({compared_commands()}, {});
    EXPECT_THAT(text, HasSubstr("metric_79"));
    EXPECT_THAT(text, Not(HasSubstr("metric_5 ")));
    TerminalStyle verbose;
    verbose.verbose = true;
    EXPECT_THAT(render_comparisons({compared_commands()}, verbose), HasSubstr("metric_5 "));
}

TEST(Comparison, OtherFormatsHaveEveryMetricAndTheTime) {
    for (const std::string& text :
         {comparisons_csv({compared_commands()}), comparisons_markdown({compared_commands()})}) {
        EXPECT_THAT(text, HasSubstr("metric_0"));
        EXPECT_THAT(text, HasSubstr("metric_79"));
        EXPECT_THAT(text, HasSubstr("./my-program args"));
    }
    EXPECT_THAT(comparisons_csv({compared_commands()}), HasSubstr("ns_per_op,,1000000000,880000000,0.88,0.86,0.9"));
    EXPECT_THAT(comparisons_markdown({compared_commands()}), HasSubstr("**12.0% less time per command"));
}

}  // namespace
}  // namespace tmaprobe::report
