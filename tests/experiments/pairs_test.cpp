#include "experiments/pairs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/experiments/topology_fixture.h"

namespace tmaprobe::experiments {
namespace {

/// The published Xeon E5620: ns by distance, at 2.4 GHz.
struct Xeon {
    machine::Topology topology = machine_of(2, 2, 2);
    std::vector<std::vector<int>> asked;
    int fail_at = -1;

    double ns(const std::vector<int>& cpus, const std::map<std::string, std::string>& options) const {
        const auto op = options.find("op");
        if (cpus.size() == 1) return op != options.end() && op->second == "inc" ? 3.97 : 10.52;
        const std::string distance = name_of(machine::pair_class(topology, cpus[0], cpus[1]));
        return distance == "smt" ? 11.13 : distance == "l3" ? 38.53 : 124.84;
    }
    MeasureOnCpus hand() {
        return [this](const std::vector<int>& cpus,
                      const std::map<std::string, std::string>& options) -> Result<record::Run> {
            asked.push_back(cpus);
            if (static_cast<int>(asked.size()) - 1 == fail_at) return fail(ErrorCode::no_permission, "cannot bind");
            record::Run run;
            const double value = ns(cpus, options);
            run.time.known = true;
            run.time.clean = 5;
            run.time.ns_per_op = {5, value, value, value, 0, value, value};
            run.time.cycles_per_op = {5, value * 2.4, 0, 0, 0, 0, 0};
            return run;
        };
    }
};

record::PairClass class_named(const record::Record& record, const std::string& name) {
    for (const auto& entry : record.extra.pairs->classes)
        if (entry.distance == name) return entry;
    ADD_FAILURE() << "no class " << name;
    return {};
}

TEST(Pairs, ReproduceThePublishedArithmetic) {
    Xeon xeon;
    const auto pairs = choose_pairs({}, xeon.topology);
    ASSERT_TRUE(pairs);
    EXPECT_EQ(pairs->size(), 28U);
    record::Record record;
    ASSERT_TRUE(measure_pairs({}, *pairs, xeon.hand(), {}, record));
    const auto die = class_named(record, "l3");
    EXPECT_NEAR(*die.coherency_ns, 27.40, 1e-9);
    EXPECT_NEAR(*die.coherency_cycles, 65.76, 1e-9);
    const auto hop = class_named(record, "numa-21");
    EXPECT_NEAR(*hop.coherency_ns, 113.71, 1e-9);
    EXPECT_NEAR(*hop.coherency_cycles, 272.90, 0.01);
    EXPECT_FALSE(class_named(record, "smt").coherency_ns);
    EXPECT_EQ(record.extra.pairs->baseline.kind, "two threads of one core");
    EXPECT_NEAR(*record.extra.pairs->alone->plain_ns, 3.97, 1e-9);
    const auto& cpi = record.extra.pairs->cpi.by_class.at("numa-21");
    EXPECT_NEAR(cpi[0], 2.0, 1e-9);
    EXPECT_NEAR(cpi[4], 2.0 + 0.02 * 272.904, 1e-6);
}

TEST(Pairs, FillASymmetricMatrixWithoutDiagonal) {
    Xeon xeon;
    record::Record record;
    ASSERT_TRUE(measure_pairs({}, *choose_pairs({}, xeon.topology), xeon.hand(), {}, record));
    const auto& matrix = record.extra.pairs->ns;
    ASSERT_EQ(matrix.size(), 8U);
    for (std::size_t row = 0; row < 8; ++row) {
        EXPECT_FALSE(matrix[row][row]);
        for (std::size_t column = 0; column < 8; ++column) EXPECT_EQ(matrix[row][column], matrix[column][row]);
    }
    EXPECT_EQ(matrix[0][4], 11.13);  // CPU 4 is CPU 0's second thread
}

TEST(Pairs, OnePerClassAreTheNearestFirst) {
    Xeon xeon;
    PairsRequest request;
    request.one_per_class = true;
    const auto pairs = choose_pairs(request, xeon.topology);
    ASSERT_TRUE(pairs);
    ASSERT_EQ(pairs->size(), 3U);
    EXPECT_EQ((*pairs)[0].distance, "smt");
    EXPECT_EQ((*pairs)[1].distance, "l3");
    EXPECT_EQ((*pairs)[2].distance, "numa-21");
    record::Record record;
    ASSERT_TRUE(measure_pairs(request, *pairs, xeon.hand(), {}, record));
    EXPECT_EQ(record.runs.size(), 5U);  // two alone, one of each class
    EXPECT_TRUE(!record.extra.pairs->ns[1][2]);
}

TEST(Pairs, WithoutSmtStandOnOneThreadAlone) {
    Xeon xeon;
    xeon.topology = machine_of(1, 2, 1);
    record::Record record;
    ASSERT_TRUE(measure_pairs({}, *choose_pairs({}, xeon.topology), xeon.hand(), {}, record));
    EXPECT_EQ(record.extra.pairs->baseline.kind, "one thread alone");
    EXPECT_NEAR(*class_named(record, "l3").coherency_ns, 38.53 - 10.52, 1e-9);
}

TEST(Pairs, OfPingPongHaveNoLoneThread) {
    Xeon xeon;
    xeon.topology = machine_of(1, 2, 1);
    PairsRequest request;
    request.kernel = "pingpong";
    record::Record record;
    ASSERT_TRUE(measure_pairs(request, *choose_pairs(request, xeon.topology), xeon.hand(), {}, record));
    EXPECT_EQ(xeon.asked.size(), 1U);
    EXPECT_FALSE(record.extra.pairs->alone);
    EXPECT_FALSE(class_named(record, "l3").coherency_ns);
    EXPECT_TRUE(record.extra.pairs->cpi.by_class.empty());
}

TEST(Pairs, OfFewerThanThreeCleanRepetitionsHaveNoPlaceInTheMatrix) {
    Xeon xeon;
    xeon.topology = machine_of(1, 2, 1);
    const auto hand = xeon.hand();
    const auto disturbed = [&](const std::vector<int>& cpus, const std::map<std::string, std::string>& options) {
        auto run = hand(cpus, options);
        if (run && cpus.size() == 2) {
            run->time.clean = 2;
            run->time.disturbed = 3;
            run->time.causes = {{record::DisturbanceCause::partner_waited, 3, 0.5, 0.5}};
        }
        return run;
    };
    record::Record record;
    ASSERT_TRUE(measure_pairs({}, *choose_pairs({}, xeon.topology), disturbed, {}, record));
    const auto& pairs = *record.extra.pairs;
    EXPECT_FALSE(pairs.ns[0][1]);
    EXPECT_FALSE(class_named(record, "l3").median_ns);
    EXPECT_FALSE(class_named(record, "l3").coherency_ns);
    EXPECT_TRUE(pairs.cpi.by_class.empty());
    ASSERT_EQ(record.warnings.size(), 2U);
    EXPECT_EQ(record.warnings[0].id, "too_few_undisturbed");
    EXPECT_NE(record.warnings[1].what.find("another thread of the kernel waited for its CPU (had it 50% of the time)"),
              std::string::npos)
        << record.warnings[1].what;
}

TEST(Pairs, InterruptedKeepWhatIsThere) {
    Xeon xeon;
    int left = 2;
    PairsHooks hooks;
    hooks.interrupted = [&] { return left-- == 0; };
    record::Record record;
    ASSERT_TRUE(measure_pairs({}, *choose_pairs({}, xeon.topology), xeon.hand(), hooks, record));
    EXPECT_TRUE(record.partial);
    EXPECT_EQ(class_named(record, "smt").pairs, 2U);
    EXPECT_EQ(record.extra.pairs->ns.size(), 8U);
}

TEST(Pairs, ThatCannotBeBoundFail) {
    for (const int at : {0, 1, 2}) {
        Xeon xeon;
        xeon.fail_at = at;
        record::Record record;
        EXPECT_EQ(measure_pairs({}, *choose_pairs({}, xeon.topology), xeon.hand(), {}, record).error().code,
                  ErrorCode::no_permission);
    }
}

TEST(ChoosePairs, RefusesWhatCannotBePaired) {
    const auto code = [](const machine::Topology& topology, std::vector<int> cpus) {
        PairsRequest request;
        request.cpus = std::move(cpus);
        const auto pairs = choose_pairs(request, topology);
        return pairs ? ErrorCode::system : pairs.error().code;
    };
    auto four = machine_of(1, 4, 1);
    four.cpus[3].allowed = false;
    EXPECT_EQ(code(machine_of(1, 1, 1), {}), ErrorCode::unavailable);
    EXPECT_EQ(code(four, {1}), ErrorCode::bad_usage);
    EXPECT_EQ(code(four, {1, 1}), ErrorCode::bad_usage);
    EXPECT_EQ(code(four, {0, 99999}), ErrorCode::bad_usage);
    EXPECT_EQ(code(four, {0, 3}), ErrorCode::no_permission);
    PairsRequest two;
    two.cpus = {2, 0};
    ASSERT_TRUE(choose_pairs(two, four));
    EXPECT_EQ(choose_pairs(two, four)->size(), 1U);
    EXPECT_EQ(choose_pairs({}, four)->size(), 3U);  // of the three CPUs that are allowed
}

TEST(ChoosePairs, TellsCoreTypesApart) {
    auto hybrid = machine_of(1, 3, 1);
    hybrid.cpus[0].core_type = hybrid.cpus[1].core_type = "P";
    hybrid.cpus[2].core_type = "E";
    const auto pairs = choose_pairs({}, hybrid);
    ASSERT_TRUE(pairs);
    EXPECT_EQ((*pairs)[0].distance, "l3 P-E");
    EXPECT_EQ((*pairs)[2].distance, "l3 P-P");
}

TEST(Nearer, OrdersDistances) {
    const std::vector<std::string> ordered{"smt",  "l2 E-E",  "l3",      "package", "two-packages",
                                           "numa", "numa-12", "numa-21", "numa-31", "numa-100"};
    for (std::size_t one = 0; one < ordered.size(); ++one)
        for (std::size_t other = 0; other < ordered.size(); ++other)
            EXPECT_EQ(nearer(ordered[one], ordered[other]), one < other);
}

}  // namespace
}  // namespace tmaprobe::experiments
