// Every target of this machine's instruction set that the model covers, with four kernels of different character.

#include <gmock/gmock.h>

#include <cmath>

#include "base/result.h"
#include "experiments/kernel_run.h"
#include "experiments/run.h"
#include "experiments/setup.h"
#include "experiments/source_choice.h"
#include "experiments/workloads.h"
#include "judge/assess.h"
#include "machine/host.h"
#include "model/model.h"

namespace tmaprobe::experiments {
namespace {

std::vector<std::string> targets_of_this_machine() {
    const bool arm = machine::detect().architecture == "aarch64";
    std::vector<std::string> names;
    for (const auto& target : events::known_targets({}).value_or(std::vector<events::Target>{}))
        if (target.patterns.front().starts_with("0x") == arm) names.push_back(target.folder);
    return names;
}

/// The metrics of a kernel on a target, modelled from one small window.
Result<std::vector<record::Metric>> model_of(const std::string& kernel, const std::string& target) {
    RunRequest request;
    request.workload.kernel = kernel;
    request.counting.target = target;
    request.counting.level = 2;
    request.counting.source = SourceChoice::model;
    if (kernel == "chase" || kernel == "stream") request.workload.size_bytes = 256 << 10;
    const auto host = machine::detect();
    const auto setup = TRY(set_up(request.counting, host, machine::detect_topology()));
    // Where this machine's id is contradicted, one of the targets is what its features say.
    EXPECT_THAT(setup.warnings, testing::Each(testing::Field(&record::Warning::id, "id_contradicted")));
    const auto point = TRY(choose_kernel_run(request.workload, setup));
    auto made = TRY(point.kernel->make(point.variant.name, point.parameters));
    KernelWorkload workload(std::move(made));

    counters::PmuLimits limits;
    limits.general_counters = limits.fixed_counters = 1 << 16;
    limits.has_slots = limits.has_level2_metrics = true;
    const auto plan =
        TRY(counters::make_plan(*setup.table, setup.metrics, {}, {limits}, setup.constants, counters::Policy::passes));
    model::ModelOptions options;
    options.windows = 1;
    options.window_instructions = 4000;
    auto source = TRY(model::make_source({}, *setup.table, host, options));
    TRY((source)->prepare(plan));
    const auto sample = TRY((source)->measure(workload, {0, 0, 1 << 20}));
    judge::AssessRequest assessment;
    assessment.metrics = setup.metrics;
    assessment.constants = setup.constants;
    assessment.status = record::Status::modelled;
    return judge::assess(*setup.table, sample.events, assessment);
}

using Case = std::tuple<std::string, const char*>;

class OnEveryTarget : public testing::TestWithParam<Case> {};

TEST_P(OnEveryTarget, TheTreeIsWhole) {
    if (!model::built()) GTEST_SKIP() << "this build has no model";
    const auto [target, kernel] = GetParam();
    const auto metrics = model_of(kernel, target);
    ASSERT_TRUE(metrics) << metrics.error().what << ": " << metrics.error().hint;
    double first_level = 0;
    std::map<std::string, double> children;
    for (const auto& metric : *metrics) {
        if (metric.level < 1 || metric.level > 2) continue;
        // Intel divides one kind of bad speculation by both: of none there are no shares.
        const bool of_none =
            metric.category == record::Category::bad_speculation && metric.reason.starts_with("division by zero");
        if (metric.status == record::Status::unavailable && of_none) continue;
        EXPECT_EQ(metric.status, record::Status::modelled) << metric.name << ": " << metric.reason;
        EXPECT_THAT(metric.warnings, testing::IsEmpty()) << metric.name << " = " << metric.value;
        if (metric.level == 1)
            first_level += metric.value;
        else
            children[metric.parent] += metric.value;
    }
    EXPECT_NEAR(first_level, 1, 1e-6);
    // Children on another basis (cycles, their parent) need not add up to it.
    for (const auto& metric : *metrics) {
        if (metric.level != 1 || !children.contains(metric.name)) continue;
        const bool on_slots = std::ranges::all_of(*metrics, [&](const auto& child) {
            return child.parent != metric.name || child.unit == record::MetricUnit::slots;
        });
        if (on_slots) EXPECT_NEAR(children[metric.name], metric.value, 1e-6) << metric.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Table, OnEveryTarget,
                         testing::Combine(testing::ValuesIn(targets_of_this_machine()),
                                          testing::Values("sha256", "chase", "stream", "atomic")),
                         [](const auto& row) {
                             std::string name = std::get<0>(row.param) + "_" + std::get<1>(row.param);
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

/// A machine that no table has, but for which this one can run what is traced.
machine::Host unlisted(const std::string& id) {
    machine::Host host = machine::detect();
    host.cpu_id = id;
    host.pmu = {};
    return host;
}

class OnAnUnlistedCpu : public testing::TestWithParam<const char*> {};

TEST_P(OnAnUnlistedCpu, AnotherCoreStandsInAndIsSaidToBeAGuess) {
    if (!model::built()) GTEST_SKIP() << "this build has no model";
    if (machine::detect().architecture == "aarch64") GTEST_SKIP() << "the ids are of x86 CPUs";
    RunRequest request;
    request.workload.kernel = "sha256";
    request.counting.level = 2;
    request.repeat.repetitions = 1;
    const auto record = run(request, unlisted(GetParam()), machine::detect_topology(), {});
    ASSERT_TRUE(record) << record.error().what;
    EXPECT_EQ(record->source.kind, record::SourceKind::model);
    const std::string why = record->extra.why_source;
    for (const char* said : {GetParam(), "stands in", "a guess"}) EXPECT_THAT(why, testing::HasSubstr(said));
    EXPECT_TRUE(record::has_own_tree(*record));
    double first_level = 0;
    int second_level = 0;
    for (const auto& metric : record->runs.at(0).metrics) {
        EXPECT_EQ(metric.status, record::Status::modelled) << metric.name << ": " << metric.reason;
        if (metric.level == 1) first_level += metric.value;
        second_level += metric.level == 2;
    }
    EXPECT_NEAR(first_level, 1, 1e-6);
    EXPECT_EQ(second_level, 8);
    for (const auto& warning : record->warnings) EXPECT_NE(warning.id, "no_tree");
}

INSTANTIATE_TEST_SUITE_P(Invented, OnAnUnlistedCpu,
                         testing::Values("AuthenticAMD-27-1-0", "GenuineIntel-19-1-0", "HygonGenuine-24-1-1",
                                         "CentaurHauls-7-3B-2", "--0-0"));

bool warns_of_a_tree(const Setup& setup) {
    return std::ranges::any_of(setup.warnings,
                               [](const auto& warning) { return warning.id == "no_tree" || warning.id == "no_table"; });
}

TEST(Warnings, NobodyHearsOfATreeWhoAskedForNone) {
    RunRequest request;
    request.workload.kernel = "sha256";
    request.counting.source = SourceChoice::none;
    for (const char* target : {"amdzen1", "amdzen3", "clearwaterforest"}) {
        request.counting.target = target;
        const auto setup = set_up(request.counting, machine::detect(), machine::detect_topology());
        ASSERT_TRUE(setup) << setup.error().what;
        EXPECT_FALSE(warns_of_a_tree(*setup)) << target;
    }
    request.counting.target.clear();
    const auto setup = set_up(request.counting, unlisted("AuthenticAMD-27-1-0"), machine::detect_topology());
    ASSERT_TRUE(setup) << setup.error().what;
    EXPECT_FALSE(warns_of_a_tree(*setup));
}

TEST(Unlisted, CountersAreNotAskedByANeighboursNumbers) {
    machine::Host host = unlisted("AuthenticAMD-27-1-0");
    host.pmu.counts = true;
    RunRequest request;
    request.workload.kernel = "sha256";
    const auto setup = set_up(request.counting, host, machine::detect_topology());
    ASSERT_TRUE(setup) << setup.error().what;
    EXPECT_NE(setup->decision.sources.front(), SourceChoice::perf);
    request.counting.source = SourceChoice::perf;
    EXPECT_FALSE(set_up(request.counting, host, machine::detect_topology()));
}

}  // namespace
}  // namespace tmaprobe::experiments
