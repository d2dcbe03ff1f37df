#include "experiments/sweep.h"
#include "base/sizes.h"
#include "judge/sweep_findings.h"
#include "record/json/file.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tmaprobe::experiments {
namespace {

/// A machine of 1 MiB cache and 2 MiB of TLB reach, without noise.
double cost(std::uint64_t size, bool small_pages) {
    const auto misses = [&](std::uint64_t capacity) {
        return size > capacity ? 1 - static_cast<double>(capacity) / static_cast<double>(size) : 0;
    };
    return 4 + 20 * misses(1 * mib) + (small_pages ? 10 * misses(8 * mib) : 0);
}

/// Measures without a machine and remembers what was asked of it.
struct FakeMachine {
    std::vector<std::string> asked;
    int fail_at = -1;
    ErrorCode failure = ErrorCode::unavailable;

    Result<MeasuredRun> measure(const KernelRun& point) {
        asked.push_back(std::to_string(point.parameters.size_bytes / kib) + "K " + point.parameters.pages.name);
        if (static_cast<int>(asked.size()) - 1 == fail_at) return fail(failure, "no memory left");
        MeasuredRun measured;
        measured.run.kernel = "chase";
        measured.run.parameters.size_bytes = point.parameters.size_bytes;
        measured.run.pages = record::Pages{
            value_named<record::PageKind>(point.parameters.pages.name).value(), {}, record::PageKind::size_4k};
        const double value = cost(point.parameters.size_bytes, point.parameters.pages.name == "4k");
        measured.run.time.known = true;
        measured.run.time.clean = 5;
        measured.run.time.ns_per_op = {5, value, value, value, 0, value, value};
        measured.warnings.push_back({"disturbed", "1 of 6", ""});
        return measured;
    }
    MeasurePoint hand() {
        return [this](const KernelRun& point, const OnProgress&) { return measure(point); };
    }
};

KernelRun chase() {
    static const kernels::KernelDescriptor descriptor = [] {
        kernels::KernelDescriptor made;
        made.name = "chase";
        made.uses_memory = true;
        return made;
    }();
    KernelRun point;
    point.kernel = &descriptor;
    return point;
}

SweepRequest request(std::vector<std::uint64_t> sizes, std::vector<std::string> pages = {"4k", "thp"}) {
    SweepRequest made;
    made.run.workload.kernel = "chase";
    made.run.workload.pages = std::move(pages);
    made.sizes = std::move(sizes);
    return made;
}

TEST(SweepSizes, OfARangeAreHalfOctaves) {
    EXPECT_EQ(*sweep_sizes("16K..64K", 0),
              (std::vector<std::uint64_t>{16 * kib, 24 * kib, 32 * kib, 48 * kib, 64 * kib}));
    EXPECT_EQ(*sweep_sizes("20K..40K", 0), (std::vector<std::uint64_t>{20 * kib, 24 * kib, 32 * kib, 40 * kib}));
    EXPECT_EQ(sweep_sizes("16K..256M", 0)->size(), 29U);
}

TEST(SweepSizes, OfARangeWithPointsAreEvenOverTheLogarithm) {
    const auto sizes = sweep_sizes("16K..256M", 15);
    ASSERT_TRUE(sizes);
    ASSERT_EQ(sizes->size(), 15U);
    EXPECT_EQ(sizes->front(), 16 * kib);
    EXPECT_EQ((*sizes)[1], 32 * kib);
    EXPECT_EQ(sizes->back(), 256 * mib);
    const auto finer = sweep_sizes("16K..256M", 40);
    ASSERT_TRUE(finer);
    for (const auto size : *finer) EXPECT_EQ(size % 64, 0U);
}

TEST(SweepSizes, OfAListAreSortedOnce) {
    EXPECT_EQ(*sweep_sizes("1M,16K,1M", 0), (std::vector<std::uint64_t>{16 * kib, 1 * mib}));
}

TEST(SweepSizes, ThatMakeNoSenseAreRefused) {
    for (const char* text :
         {"", "..", "16K..", "..1M", "1M..16K", "16K..16K", "0..1M", "16K,", "16K,,1M", "many", "16K...1M", "-1..4"}) {
        const auto sizes = sweep_sizes(text, 0);
        ASSERT_FALSE(sizes) << text;
        EXPECT_EQ(sizes.error().code, ErrorCode::bad_usage) << text;
    }
    for (const int points : {-1, 1, 100000}) EXPECT_FALSE(sweep_sizes("16K..1M", points)) << points;
    EXPECT_FALSE(sweep_sizes("16K,1M", 5));
}

TEST(Sweep, MeasuresTheLargestFirstAndModesInTurn) {
    FakeMachine machine;
    record::Record record;
    ASSERT_TRUE(measure_points(request({1 * mib, 2 * mib, 4 * mib}), chase(), machine.hand(), {}, record));
    EXPECT_EQ(machine.asked,
              (std::vector<std::string>{"4096K 4k", "4096K thp", "1024K 4k", "1024K thp", "2048K 4k", "2048K thp"}));
    EXPECT_FALSE(record.partial);
    EXPECT_EQ(record.runs.size(), 6U);
    EXPECT_EQ(record.warnings.size(), 1U);
}

TEST(Sweep, WhoseFirstPointCannotBeHadIsRefused) {
    FakeMachine machine;
    machine.fail_at = 1;
    record::Record record;
    const auto measured = measure_points(request({1 * mib, 4 * mib}), chase(), machine.hand(), {}, record);
    ASSERT_FALSE(measured);
    EXPECT_EQ(measured.error().what, "no memory left");
}

TEST(Sweep, KeepsAPointThatFailsLaterWithItsReason) {
    FakeMachine machine;
    machine.fail_at = 3;
    record::Record record;
    ASSERT_TRUE(measure_points(request({1 * mib, 2 * mib, 4 * mib}), chase(), machine.hand(), {}, record));
    ASSERT_EQ(record.runs.size(), 6U);
    EXPECT_FALSE(record.runs[3].time.known);
    EXPECT_EQ(record.runs[3].time.reason, "no memory left");
    EXPECT_FALSE(record.partial);
}

TEST(Sweep, StopsWhenTheUserAsksForWhatTheKernelRefuses) {
    FakeMachine machine;
    machine.fail_at = 2;
    machine.failure = ErrorCode::bad_usage;
    record::Record record;
    EXPECT_FALSE(measure_points(request({1 * mib, 4 * mib}), chase(), machine.hand(), {}, record));
}

TEST(Sweep, InterruptedAndResumedMeasuresEachPointOnce) {
    FakeMachine machine;
    record::Record record;
    int points_left = 3, saved = 0;
    SweepHooks hooks;
    hooks.interrupted = [&] { return points_left-- == 0; };
    hooks.save = [&](const record::Record& kept) {
        ++saved;
        EXPECT_TRUE(kept.partial);
    };
    const auto wanted = request({1 * mib, 2 * mib, 4 * mib});
    ASSERT_TRUE(measure_points(wanted, chase(), machine.hand(), hooks, record));
    EXPECT_TRUE(record.partial);
    EXPECT_EQ(record.runs.size(), 3U);
    EXPECT_EQ(saved, 3);
    ASSERT_TRUE(measure_points(wanted, chase(), machine.hand(), {}, record));
    EXPECT_FALSE(record.partial);
    EXPECT_EQ(record.runs.size(), 6U);
    EXPECT_EQ(machine.asked.size(), 6U);
}

TEST(Sweep, ResumedTriesFailedPointsAgain) {
    FakeMachine machine;
    machine.fail_at = 1;
    record::Record record;
    const auto wanted = request({1 * mib, 2 * mib, 4 * mib}, {"4k"});
    ASSERT_TRUE(measure_points(wanted, chase(), machine.hand(), {}, record));
    ASSERT_TRUE(measure_points(wanted, chase(), machine.hand(), {}, record));
    EXPECT_EQ(machine.asked.size(), 4U);
    for (const auto& run : record.runs) EXPECT_TRUE(run.time.known);
}

TEST(Sweep, LooksAgainAtDisturbedPointsAndKeepsTheBetter) {
    FakeMachine machine;
    const auto disturbed_first = [&](const KernelRun& point, const OnProgress&) {
        auto measured = machine.measure(point);
        const bool again = machine.asked.size() > 3;
        measured->run.time.clean = again ? 9 : point.parameters.size_bytes == 2 * mib ? 0 : 5;
        measured->run.time.disturbed = again ? 0 : 5;
        return measured;
    };
    record::Record record;
    ASSERT_TRUE(measure_points(request({1 * mib, 2 * mib, 4 * mib}, {"4k"}), chase(), disturbed_first, {}, record));
    EXPECT_EQ(machine.asked, (std::vector<std::string>{"4096K 4k", "1024K 4k", "2048K 4k", "2048K 4k"}));
    ASSERT_EQ(record.runs.size(), 3U);
    EXPECT_EQ(record.runs[2].time.clean, 9);
}

TEST(Sweep, ReportsProgressThatOnlyGrows) {
    FakeMachine machine;
    record::Record record;
    std::vector<double> done;
    SweepHooks hooks;
    hooks.on_progress = [&](const Progress& progress) { done.push_back(progress.done); };
    ASSERT_TRUE(measure_points(request({1 * mib, 64 * mib}), chase(), machine.hand(), hooks, record));
    ASSERT_EQ(done.size(), 4U);
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_NEAR(done.back(), 1, 1e-9);
}

machine::Host small_host() {
    machine::Host host;
    host.cpu_id = "AuthenticAMD-23-31-0";
    host.caches = {{2, "unified", 1 * mib, 64, 8, 2, "cpuid"}};
    host.tlbs = {{2, "data", 4 * kib, 2048, 8, "cpuid"}, {2, "data", 2 * mib, 2048, 8, "cpuid"}};
    return host;
}

TEST(SweepFindings, NameKneesAndTheDifferenceBetweenModes) {
    FakeMachine machine;
    record::Record record;
    ASSERT_TRUE(measure_points(request(*sweep_sizes("64K..256M", 0)), chase(), machine.hand(), {}, record));
    judge::judge_sweep(record, small_host());
    const auto& verdicts = record.extra.verdicts;
    ASSERT_EQ(verdicts.size(), 3U);
    const auto small = verdicts[0], huge = verdicts[1], against = verdicts[2];
    EXPECT_EQ(small.rfind("4k: ", 0), 0U) << small;
    EXPECT_NE(small.find("(L2 cache 1M)"), std::string::npos) << small;
    EXPECT_NE(small.find("(L2 TLB reach 8M (2048 x 4k))"), std::string::npos) << small;
    EXPECT_EQ(huge.find("TLB reach"), std::string::npos) << huge;
    EXPECT_EQ(against.rfind("thp against 4k: 1.40x faster at 256M", 0), 0U) << against;
    int predicted = 0;
    for (const auto& knee : record.extra.knees)
        predicted += knee.kind == record::KneeKind::predicted && knee.cause == "L2 cache 1M";
    EXPECT_EQ(predicted, 1);
}

TEST(SweepFindings, SayWhatTheCurvesShow) {
    FakeMachine machine;
    record::Record record;
    ASSERT_TRUE(measure_points(request(*sweep_sizes("64K..1M", 0)), chase(), machine.hand(), {}, record));
    judge::judge_sweep(record, small_host());
    EXPECT_EQ(record.extra.quantity, record::CurveQuantity::latency);
    for (auto& run : record.runs) run.extra.bus_bytes_per_second = 1e9;  // a kernel that streams
    judge::judge_sweep(record, small_host());
    EXPECT_EQ(record.extra.quantity, record::CurveQuantity::bandwidth);
}

TEST(SweepFindings, OfNoPointsAreEmpty) {
    record::Record record;
    judge::judge_sweep(record, small_host());
    EXPECT_TRUE(record.extra.knees.empty());
    EXPECT_TRUE(record.extra.verdicts.empty());
}

TEST(SweepFindings, PassOverPointsThatWereDisturbed) {
    FakeMachine machine;
    record::Record record;
    ASSERT_TRUE(measure_points(request({1 * mib, 256 * mib}), chase(), machine.hand(), {}, record));
    for (auto& run : record.runs)
        if (run.parameters.size_bytes == 256 * mib) run.time.clean = 0, run.time.disturbed = 5;
    judge::judge_sweep(record, small_host());
    EXPECT_EQ(record.extra.verdicts[0],
              "4k: too few points to look for knees: 1 of the 5 that it takes; 1 point with fewer than 3 undisturbed "
              "repetitions is left out");
    EXPECT_FALSE(record.extra.knees.empty());  // predictions need no measurement
    EXPECT_EQ(record.extra.verdicts[2], "thp against 4k: no difference beyond the noise at any size");
}

TEST(SweepFindings, OfTooFewPointsClaimNothing) {
    record::Record record;
    FakeMachine machine;
    for (const char* pages : {"4k", "thp"}) {
        KernelRun point = chase();
        point.parameters.size_bytes = std::string(pages) == "4k" ? 16 * kib : 32 * kib;
        point.parameters.pages.name = pages;
        record.runs.push_back(machine.measure(point)->run);
    }
    judge::judge_sweep(record, {});
    EXPECT_EQ(record.extra.verdicts[0], "4k: too few points to look for knees: 1 of the 5 that it takes");
    EXPECT_EQ(record.extra.verdicts.back(), "thp against 4k: at no size do both have an undisturbed point");
}

TEST(SweepRequest, SurvivesTheRecord) {
    SweepRequest asked = request({16 * kib, 1 * mib});
    asked.run.workload.variant = "scalar";
    asked.run.workload.options["chains"] = "4";
    asked.run.workload.cpus = {1};
    asked.run.workload.numa_node = 0;
    asked.run.counting.source = SourceChoice::none;
    asked.seconds_per_point = 0.2;
    record::Record record;
    record.experiment = record::Experiment::sweep;
    record.host.cpu_id = "AuthenticAMD-23-31-0";
    record.extra.sweep = plan_of(asked);
    const auto records = record::parse_records(record::serialize(record), "sweep.json");
    ASSERT_TRUE(records) << records.error().what;
    const auto again = resume_request(records->front(), small_host());
    ASSERT_TRUE(again) << again.error().what;
    record::Record repeated = record;
    repeated.extra.sweep = plan_of(*again);
    EXPECT_EQ(record::serialize(repeated), record::serialize(record));
}

TEST(SweepRequest, OfAnotherRecordIsRefused) {
    record::Record record;
    EXPECT_EQ(resume_request(record, small_host()).error().code, ErrorCode::bad_input);
    record.experiment = record::Experiment::sweep;
    record.extra.sweep = plan_of(request({1 * mib}));
    record.host.cpu_id = "GenuineIntel-6-55-7";
    EXPECT_EQ(resume_request(record, small_host()).error().code, ErrorCode::bad_usage);
    record.host.cpu_id = "AuthenticAMD-23-31-0";
    const std::string text = record::serialize(record);
    for (const std::string key : {"sizes", "kernel", "numa_node", "source"}) {
        std::string damaged = text;
        const auto sweep = damaged.find("\"sweep\": {");
        damaged.replace(damaged.find("\"" + key + "\"", sweep), key.size() + 2, "\"lost\"");
        const auto refused = record::parse_records(damaged, "sweep.json");
        ASSERT_FALSE(refused) << key;
        EXPECT_EQ(refused.error().what, "sweep.json: extra.sweep." + key + " is missing");
    }
    record.extra.sweep->sizes.clear();
    EXPECT_FALSE(resume_request(record, small_host()));
}

}  // namespace
}  // namespace tmaprobe::experiments
