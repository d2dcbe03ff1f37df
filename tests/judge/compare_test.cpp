#include "judge/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tmaprobe::judge {
namespace {

record::TimedRepetition repetition(double ns, bool clean = true) {
    record::TimedRepetition made;
    made.ns_per_op = ns;
    made.clean = clean;
    return made;
}

record::Run run(std::vector<double> ns, const std::string& pages = "4k", std::uint64_t size = 16 << 20) {
    record::Run made;
    made.kernel = "chase";
    made.variant = "scalar";
    made.parameters.size_bytes = size;
    made.parameters.cpus = {1};
    made.pages = record::Pages{value_named<record::PageKind>(pages).value(), {}, record::PageKind::none};
    made.time.known = true;
    made.time.operation = "load";
    made.time.ns_per_op = summarize(ns);
    for (const double value : ns) made.extra.repetitions.push_back(repetition(value));
    return made;
}

record::Run slow() { return run({15.4, 15.5, 15.6, 15.5, 15.45, 15.55}); }
record::Run fast() { return run({10.2, 10.3, 10.4, 10.3, 10.25, 10.35}, "2m"); }

record::Metric metric(const std::string& name, double value, double width, int level, record::Category category,
                      record::Status status = record::Status::measured) {
    record::Metric made;
    made.name = name;
    made.value = value;
    made.low = value - width;
    made.high = value + width;
    made.level = level;
    made.category = category;
    made.status = status;
    return made;
}

record::Record record_of(std::vector<record::Run> runs) {
    record::Record record;
    record.host.cpu_id = "AuthenticAMD-25-11-1";
    record.runs = std::move(runs);
    return record;
}

TEST(Comparison, SaysHowMuchFasterWithConfidence) {
    const RunComparison comparison = compare_runs(slow(), fast(), "4k", "2m");
    ASSERT_EQ(comparison.sentences.size(), 1U);
    EXPECT_EQ(comparison.sentences[0].rfind(
                  "2m is 1.50x as fast as 4k: 10.3 ns against 15.5 ns per load (95% interval -34.", 0),
              0U)
        << comparison.sentences[0];
    EXPECT_TRUE(comparison.time.differs());
    EXPECT_NEAR(comparison.time.value, 10.3 / 15.5, 1e-3);
}

TEST(Comparison, SaysWhenThereIsNoDifference) {
    const RunComparison comparison =
        compare_runs(slow(), run({15.5, 15.45, 15.6, 15.4, 15.5, 15.52}, "2m"), "4k", "2m");
    EXPECT_EQ(
        comparison.sentences[0].rfind(
            "2m against 4k: no difference in time beyond the noise (15.5 ns against 15.5 ns per load; 95% interval ",
            0),
        0U)
        << comparison.sentences[0];
}

TEST(Comparison, OfThreeRepetitionsIsNotSure) {
    const RunComparison comparison = compare_runs(run({10, 10.1, 10.2}), run({20, 20.1, 20.2}), "a", "b");
    EXPECT_NE(comparison.sentences[0].find("too few repetitions to be sure"), std::string::npos)
        << comparison.sentences[0];
    EXPECT_FALSE(slower_than(comparison, 0.05));
}

TEST(Comparison, OfOneTimeOnEachSideNamesNoFactorAndIsNotJudged) {
    const RunComparison comparison = compare_runs(run({10}), run({40}), "a", "b");
    EXPECT_FALSE(can_judge(comparison));
    EXPECT_FALSE(slower_than(comparison, 0.05));
    EXPECT_EQ(why_not_judged(comparison), "1 and 1 are too few repetitions");
    EXPECT_EQ(comparison.sentences[0].find("4.0"), std::string::npos) << comparison.sentences[0];
    EXPECT_EQ(comparison.sentences[0].find("300"), std::string::npos) << comparison.sentences[0];
    EXPECT_EQ(comparison.sentences[0].find("noise ("), std::string::npos) << comparison.sentences[0];
}

TEST(Comparison, OfFourTimesOnEachSideIsJudged) {
    const RunComparison comparison = compare_runs(run({10, 10.1, 10.2, 10.3}), run({40, 40.1, 40.2, 40.3}), "a", "b");
    EXPECT_TRUE(can_judge(comparison));
    EXPECT_TRUE(slower_than(comparison, 0.05));
}

TEST(Comparison, WithoutATimeIsNotJudged) {
    record::Run untimed = slow();
    untimed.time = {};
    EXPECT_FALSE(can_judge(compare_runs(slow(), untimed, "a", "b")));
}

TEST(Comparison, OfModelledTranslationSaysWhosePagesTheyAre) {
    record::Run small = slow(), large = fast();
    small.metrics = {metric("dtlb_misses", 954.9, 1, 0, record::Category::tlb, record::Status::modelled)};
    large.metrics = {metric("dtlb_misses", 0, 0, 0, record::Category::tlb, record::Status::modelled)};
    small.metrics[0].unit = large.metrics[0].unit = record::MetricUnit::per_kilo_instructions;
    EXPECT_EQ(compare_runs(small, large, "4k", "2m").sentences.back(),
              "dtlb_misses falls from 954.9 (4k) to 0 (2m) per 1000 instructions, modelled.");
    large.pages->effective = record::PageKind::size_4k;
    EXPECT_EQ(compare_runs(small, large, "4k", "2m").sentences.back(),
              "dtlb_misses falls from 954.9 (4k) to 0 (2m) per 1000 instructions, modelled with the page sizes of the "
              "guest, which this machine's "
              "TLB does not hold.");
    large.extra.model.emplace().assumed_pages = record::PageKind::size_4k;
    EXPECT_EQ(compare_runs(small, large, "4k", "2m").sentences.back(),
              "dtlb_misses falls from 954.9 (4k) to 0 (2m) per 1000 instructions, modelled.");
}

TEST(Comparison, PrefersCleanRepetitions) {
    record::Run disturbed = slow();
    for (int index = 0; index < 20; ++index) disturbed.extra.repetitions.push_back(repetition(31, false));
    EXPECT_NEAR(compare_runs(slow(), disturbed, "a", "b").time.value, 1, 1e-6);
}

/// A run whose repetitions all waited for their CPU but for the first ones.
record::Run waiting(int clean) {
    record::Run busy = run({});
    std::vector<double> times;
    for (int index = 0; index < 7; ++index) {
        times.push_back(450 + index);
        busy.extra.repetitions.push_back(repetition(times.back(), index < clean));
    }
    busy.time.ns_per_op = summarize(times);
    busy.time.clean = clean;
    busy.time.disturbed = 7 - clean;
    busy.time.causes = {{record::DisturbanceCause::waited_for_cpu, 7 - clean, 0.97, 0.97}};
    return busy;
}

TEST(Comparison, OfFewerThanThreeCleanRepetitionsIsNone) {
    for (const int clean : {0, 2})
        for (const bool first : {false, true}) {
            const RunComparison comparison = first ? compare_runs(waiting(clean), slow(), "4k", "thp")
                                                   : compare_runs(slow(), waiting(clean), "4k", "thp");
            EXPECT_FALSE(can_judge(comparison));
            EXPECT_FALSE(slower_than(comparison, 0));
            const std::string& said = comparison.sentences.at(0);
            EXPECT_EQ(said.rfind("thp against 4k: too few undisturbed repetitions to compare", 0), 0U) << said;
            EXPECT_NE(said.find(first ? "4k: " : "thp: "), std::string::npos) << said;
            EXPECT_NE(said.find("had it 3% of the time"), std::string::npos) << said;
            EXPECT_EQ(said.find('x'), std::string::npos) << "a factor: " << said;
            const auto summary = summary_of(comparison);
            ASSERT_TRUE(summary.time);
            EXPECT_FALSE(summary.time->judged);
            EXPECT_FALSE(summary.time->ratio || summary.time->low || summary.time->high);
            EXPECT_NE(comparison.notes.at(0).find("measure again"), std::string::npos);
        }
    EXPECT_TRUE(compare_runs(slow(), waiting(3), "4k", "thp").disturbed.empty());
}

TEST(Comparison, OfTwoSingleValuesIsNone) {
    record::Run one = run({10}), other = run({20});
    one.extra.repetitions.clear();
    other.extra.repetitions.clear();
    const RunComparison comparison = compare_runs(one, other, "a", "b");
    EXPECT_FALSE(can_judge(comparison));
    EXPECT_FALSE(summary_of(comparison).time->ratio);
}

TEST(Comparison, WithoutRepetitionsUsesTheIntervals) {
    record::Run one = slow(), other = fast();
    one.extra.repetitions.clear();
    const RunComparison comparison = compare_runs(one, other, "4k", "2m");
    EXPECT_TRUE(comparison.time.differs());
    EXPECT_LE(comparison.time.low, 10.3 / 15.5);
}

TEST(Comparison, OfARunWithoutTimeSaysWhy) {
    record::Run untimed = fast();
    untimed.time.known = false;
    untimed.time.reason = "this CPU lacks the instructions";
    const RunComparison comparison = compare_runs(slow(), untimed, "4k", "2m");
    EXPECT_FALSE(comparison.timed);
    EXPECT_TRUE(comparison.sentences.empty());
    EXPECT_EQ(comparison.notes.at(0), "no time to compare: 2m has none (this CPU lacks the instructions)");
    EXPECT_FALSE(summary_of(comparison).time);
}

TEST(Comparison, NamesTheLargestMoveInTreeAndTranslation) {
    record::Run one = slow(), other = fast();
    one.metrics = {metric("backend_bound", 0.9, 0.01, 1, record::Category::backend),
                   metric("retiring", 0.05, 0.01, 1, record::Category::retiring),
                   metric("walks", 300, 1, 0, record::Category::tlb),
                   metric("noisy", 0.5, 0.4, 1, record::Category::frontend)};
    other.metrics = {metric("backend_bound", 0.6, 0.01, 1, record::Category::backend),
                     metric("retiring", 0.06, 0.01, 1, record::Category::retiring),
                     metric("walks", 20, 0.01, 0, record::Category::tlb),
                     metric("noisy", 0.1, 0.4, 1, record::Category::frontend)};
    one.metrics[2].unit = other.metrics[2].unit = record::MetricUnit::per_kilo_instructions;
    const RunComparison comparison = compare_runs(one, other, "4k", "2m");
    ASSERT_EQ(comparison.sentences.size(), 3U);
    EXPECT_EQ(comparison.sentences[1], "backend_bound falls from 90.0% (4k) to 60.0% (2m), measured.");
    EXPECT_EQ(comparison.sentences[2], "walks falls from 300 (4k) to 20 (2m) per 1000 instructions, measured.");
}

TEST(Comparison, PassesOverWhatIsNoNumber) {
    record::Run one = slow(), other = fast();
    one.metrics = {metric("retiring", std::nan(""), 0, 1, record::Category::retiring)};
    other.metrics = {metric("retiring", 0.5, 0, 1, record::Category::retiring)};
    EXPECT_TRUE(compare_runs(one, other, "4k", "2m").metrics.empty());
}

TEST(Comparison, DoesNotMixModelledWithMeasured) {
    record::Run one = slow(), other = fast();
    one.metrics = {metric("backend_bound", 0.9, 0.01, 1, record::Category::backend)};
    other.metrics = {metric("backend_bound", 0.6, 0.01, 1, record::Category::backend, record::Status::modelled)};
    const RunComparison comparison = compare_runs(one, other, "4k", "2m");
    EXPECT_TRUE(comparison.metrics.empty());
    EXPECT_EQ(comparison.notes.size(), 1U);
    other.metrics[0].status = record::Status::unavailable;
    EXPECT_TRUE(compare_runs(one, other, "4k", "2m").notes.empty());
}

TEST(PageModes, AreComparedWithTheFirst) {
    record::Record record = record_of({slow(), fast(), run({10, 10, 10, 10}, "1g")});
    compare_page_modes(record);
    ASSERT_EQ(record.extra.comparison.size(), 2U);
    EXPECT_EQ(std::get<record::Comparison>(record.extra.comparison[0]).after, "2m");
    EXPECT_EQ(std::get<record::Comparison>(record.extra.comparison[1]).after, "1g");
    EXPECT_TRUE(std::get<record::Comparison>(record.extra.comparison[0]).time->differs);
    record::Record alone = record_of({slow()});
    compare_page_modes(alone);
    EXPECT_TRUE(alone.extra.comparison.empty());
}

TEST(Records, ThatDidTheSameAreCompared) {
    record::Run again = slow();
    again.parameters.cpus = {0};  // where it ran is no parameter of the work
    const auto comparisons = compare_records(record_of({slow(), fast()}), record_of({fast(), again}), "a", "b", false);
    ASSERT_TRUE(comparisons) << comparisons.error().what;
    ASSERT_EQ(comparisons->size(), 2U);
    EXPECT_NEAR((*comparisons)[0].time.value, 1, 1e-6);
    EXPECT_EQ((*comparisons)[0].subject, "chase scalar, 16M, 4k pages");
}

TEST(Records, ThatDidNotDoTheSameAreRefused) {
    const auto base = record_of({slow()});
    auto kernel = slow(), variant = slow(), option = slow();
    kernel.kernel = "stream";
    variant.variant = "avx2";
    option.parameters.options["chains"] = "4";
    const std::vector<std::pair<record::Run, std::string>> cases{
        {kernel, "kernel chase and stream"},
        {variant, "variant scalar and avx2"},
        {option, "chains none and 4"},
        {run({1, 2, 3}, "4k", 8 << 20), "size_bytes 16777216 and 8388608"},
        {fast(), "pages 4k and 2m"}};
    for (const auto& [other, what] : cases) {
        const auto refused = compare_records(base, record_of({other}), "a.json", "b.json", false);
        ASSERT_FALSE(refused) << what;
        EXPECT_EQ(refused.error().code, ErrorCode::bad_usage);
        EXPECT_EQ(refused.error().what, "a.json and b.json did not do the same: " + what);
        const auto told_so = compare_records(base, record_of({other}), "a.json", "b.json", true);
        ASSERT_TRUE(told_so);
        EXPECT_EQ(told_so->at(0).notes.at(0), "they did not do the same: " + what);
    }
}

TEST(Records, WithoutRunsAreBadInput) {
    EXPECT_EQ(compare_records(record_of({}), record_of({slow()}), "a", "b", false).error().code, ErrorCode::bad_input);
}

TEST(Records, OfTwoCpusSaySo) {
    auto elsewhere = record_of({slow()});
    elsewhere.host.cpu_id = "GenuineIntel-6-55-7";
    const auto comparisons = compare_records(record_of({slow()}), elsewhere, "a", "b", false);
    ASSERT_TRUE(comparisons);
    EXPECT_EQ(comparisons->at(0).notes.at(0),
              "they were measured on different CPUs (AuthenticAMD-25-11-1 and GenuineIntel-6-55-7)");
}

TEST(SlowerThan, NeedsTheWholeIntervalAbove) {
    const RunComparison six =
        compare_runs(run({100, 100.2, 99.8, 100, 100.1, 99.9}), run({106, 106.2, 105.8, 106, 106.1, 105.9}), "a", "b");
    EXPECT_TRUE(slower_than(six, 0.05));
    EXPECT_FALSE(slower_than(six, 0.06));
    EXPECT_FALSE(slower_than(compare_runs(slow(), fast(), "a", "b"), 0));
}

}  // namespace
}  // namespace tmaprobe::judge
