// The engine against an evaluator that was written apart from it: tests/data/expected_values.py
// reads the JSON tables straight and says what every metric must be on invented counts, with SMT on
// and off, system-wide and not, and on counts that are all zero.
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "events/table.h"
#include "metrics/formulas.h"

namespace tmaprobe::events {
namespace {

constexpr double tolerance = 1e-11;

bool close(double value, double expected) {
    return std::abs(value - expected) <= tolerance * std::max({std::abs(value), std::abs(expected), 1e-300});
}

std::string without_escapes(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        plain += text[i];
    }
    return plain;
}

/// The spelling by which a hybrid's bare event name is looked up on one PMU.
std::string on_pmu(const std::string& written, const std::string& unit) {
    const std::string plain = without_escapes(written);
    if (unit.empty() || plain.find('@') != plain.npos) return plain;
    const std::size_t colon = std::min(plain.find(':'), plain.size());
    return unit + "@" + plain.substr(0, colon) + "@" + (colon < plain.size() ? plain.substr(colon + 1) : "");
}

/// The counts under each spelling that the loader may give them: a hybrid's bare event names get
/// their PMU ("cpu_core@EVENT@R" for "EVENT:R").
metrics::Counts counts_of(const nlohmann::json& expected, const std::string& unit) {
    metrics::Counts counts;
    for (const auto& [written, number] : expected.items()) {
        const double value = number.get<double>();
        const metrics::Count count{.value = value, .low = value, .high = value};
        const std::string plain = without_escapes(written);
        counts[written] = counts[plain] = counts[on_pmu(written, unit)] = count;
    }
    return counts;
}

metrics::Constants constants_of(const nlohmann::json& expected) {
    metrics::Constants constants;
    for (const auto& [name, value] : expected.at("constants").items()) constants.values[name] = value.get<double>();
    constants.cpu_id = expected.at("cpu_id").get<std::string>();
    constants.has_event = [](std::string_view) { return true; };
    return constants;
}

/// What the Python evaluator says of the folders that the options name, one case a line.
std::vector<nlohmann::json> expected_cases(const std::string& options) {
    const auto directory = std::filesystem::temp_directory_path() / ("tmaprobe-expected-" + std::to_string(::getpid()));
    const std::string script = std::string(TMAPROBE_SOURCE_DIR) + "/tests/data/expected_values.py";
    const std::string command = "python3 -B '" + script + "' --out '" + directory.string() + "' " + options;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::vector<nlohmann::json> cases;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);)
            if (!line.empty()) cases.push_back(nlohmann::json::parse(line));
    }
    std::filesystem::remove_all(directory);
    return cases;
}

std::vector<std::string> folders() { return targets(Library{}).value_or(std::vector<std::string>{}); }

/// Every event's encoding against the one that was worked out from the kernel's layout of config.
std::size_t compare_encodings(const Table& table, const nlohmann::json& expected) {
    const std::string unit = expected.at("unit").get<std::string>();
    std::size_t compared = 0;
    for (const auto& [written, config] : expected.at("configs").items()) {
        const auto event = resolve(table, on_pmu(written, unit));
        EXPECT_TRUE(event) << written;
        if (!event) continue;
        EXPECT_EQ(event->config, config.at(0).get<std::uint64_t>()) << unit << " " << written;
        EXPECT_EQ(event->config1, config.at(1).get<std::uint64_t>()) << unit << " " << written;
        ++compared;
    }
    return compared;
}

/// Every metric of one case's PMU against its expected value; how many there were.
std::size_t compare_metrics(const Table& table, const metrics::Formulas& formulas, const nlohmann::json& expected) {
    std::size_t compared = 0;
    const std::string unit = expected.at("unit").get<std::string>();
    const auto values = formulas.evaluate(counts_of(expected.at("counts"), unit), constants_of(expected));
    for (const metrics::MetricValue& value : values) {
        if (table.metrics[value.definition].pmu != unit) continue;
        const std::string where = table.folder + " " + unit + " " + value.name + " seed " + expected.at("seed").dump() +
                                  " " + expected.at("constants").dump() + " " + expected.at("cpu_id").dump();
        EXPECT_TRUE(expected.at("metrics").contains(value.name)) << where;
        const auto& wanted = expected.at("metrics").at(value.name);
        ++compared;
        if (wanted.is_null()) {
            EXPECT_EQ(value.outcome, metrics::Outcome::unavailable) << where << ": " << value.value;
            EXPECT_FALSE(value.reason.empty()) << where;
            continue;
        }
        EXPECT_EQ(value.outcome, metrics::Outcome::value) << where << ": " << value.reason;
        EXPECT_TRUE(close(value.value, wanted.get<double>())) << where << ": " << value.value << " for " << wanted;
        const auto threshold = expected.at("thresholds").find(value.name);
        if (threshold != expected.at("thresholds").end() && !threshold->is_null())
            EXPECT_EQ(value.over_threshold, std::optional<bool>(threshold->get<bool>())) << where;
    }
    EXPECT_EQ(std::ranges::count_if(table.metrics, [&](const auto& metric) { return metric.pmu == unit; }),
              static_cast<std::ptrdiff_t>(expected.at("metrics").size()));
    return compared;
}

class ExpectedValues : public testing::TestWithParam<std::string> {};

TEST_P(ExpectedValues, EveryMetricAndEncodingIsWhatTheIndependentEvaluatorSays) {
    const auto table = load(Library{}, GetParam());
    ASSERT_TRUE(table) << table.error().what;
    // Where the machine hides PERF_METRICS, other formulas take the place of some.
    Table hidden = *table;
    ASSERT_TRUE(use_formulas_without_perf_metrics(Library{}, hidden));
    const auto formulas = metrics::Formulas::compile(table->metrics, {});
    ASSERT_TRUE(formulas) << formulas.error().what;
    const auto other_formulas = metrics::Formulas::compile(hidden.metrics, {});
    ASSERT_TRUE(other_formulas) << other_formulas.error().what;
    const auto cases = expected_cases("--cpu " + GetParam());
    ASSERT_GE(cases.size(), 16u);
    std::size_t compared = 0, encodings = 0;
    for (const auto& expected : cases) {
        const bool is_hidden = expected.at("without_perf_metrics").get<bool>();
        encodings += compare_encodings(*table, expected);
        compared += compare_metrics(is_hidden ? hidden : *table, is_hidden ? *other_formulas : *formulas, expected);
    }
    EXPECT_GT(compared, 100u);
    EXPECT_GT(encodings, 50u);
}

INSTANTIATE_TEST_SUITE_P(All, ExpectedValues, testing::ValuesIn(folders()), [](const auto& info) {
    std::string name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
});

TEST(UpstreamValues, EveryMetricOfAKernelsTreeIsWhatTheIndependentEvaluatorSays) {
    const char* given = std::getenv("TMAPROBE_PMU_EVENTS");
    const std::filesystem::path tree = given
                                           ? std::filesystem::path(given)
                                           : std::filesystem::path(TMAPROBE_SOURCE_DIR) / "third_party/pmu-events/arch";
    if (!std::filesystem::exists(tree / "x86/mapfile.csv"))
        GTEST_SKIP() << "third_party/pmu-events is missing: third_party/setup.sh --test extracts it";
    std::size_t compared = 0;
    for (const auto& expected : expected_cases("--arch-tree '" + tree.string() + "'")) {
        const auto table = load(Library{tree}, expected.at("folder").get<std::string>());
        ASSERT_TRUE(table) << table.error().what;
        const auto formulas = metrics::Formulas::compile(table->metrics, {});
        ASSERT_TRUE(formulas) << formulas.error().what;
        compared += compare_metrics(*table, *formulas, expected);
    }
    EXPECT_GT(compared, 8000u);
}

TEST(ExpectedValue, AnErrorOfOnePartInAMillionIsSeen) {
    EXPECT_TRUE(close(0.25, 0.25));
    EXPECT_FALSE(close(0.25, 0.25 * (1 + 1e-6)));
    EXPECT_FALSE(close(0, 1e-6));
}

}  // namespace
}  // namespace tmaprobe::events
