#include "events/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json/value.h"
#include "base/json_dump.h"
#include "events/encoding.h"
#include "events/json_text.h"
#include "metrics/expression.h"

namespace tmaprobe::events {
namespace {

using nlohmann::json;

/// Reads the values of one row and keeps the first thing that is wrong with it.
class Row {
  public:
    Row(const TableFile& file, const json& row) : file_(file), row_(row) {}

    bool has(const char* key) const { return row_.contains(key); }

    std::string text(const char* key) {
        const auto found = row_.find(key);
        if (found == row_.end()) return {};
        if (found->is_string()) return found->get<std::string>();
        if (found->is_number() || found->is_boolean()) return found->dump();
        wrong(fmt::format("{} is neither text nor a number", key));
        return {};
    }

    /// A whole number; of a list ("0x1a6,0x1a7") the first, as upstream takes it.
    std::uint64_t number(const char* key, std::uint64_t missing = 0) {
        if (!has(key)) return missing;
        const std::string all = text(key);
        const std::string first = all.substr(0, all.find(','));
        const auto value = parse_number(first);
        if (!value) wrong(fmt::format("{}: {}", key, value.error().what));
        return value.value_or(0);
    }

    double real(const char* key) {
        const auto found = row_.find(key);
        if (found == row_.end()) return 0;
        if (!found->is_number()) {
            wrong(fmt::format("{} is not a number", key));
            return 0;
        }
        return found->get<double>();
    }

    void wrong(std::string what) {
        if (problem_.empty()) problem_ = std::move(what);
    }

    Result<> result() const {
        if (problem_.empty()) return {};
        std::string name = "a row";
        std::size_t byte = 0;
        for (const char* key : {"EventName", "MetricName", "ArchStdEvent"})
            if (const auto found = row_.find(key); found != row_.end() && found->is_string()) {
                name = found->get<std::string>();
                const std::size_t at = file_.text.find('"' + name + '"');
                byte = at == std::string::npos ? 0 : at;
                break;
            }
        return fail(ErrorCode::bad_input, fmt::format("{}: {}: {}", tmaprobe::json::place_in(file_.label, file_.text, byte), name, problem_));
    }

  private:
    const TableFile& file_;
    const json& row_;
    std::string problem_;
};

/// The kernel's name of the PMU that an upstream Unit means; "" for the core's.
std::string pmu_of_unit(const std::string& unit) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 17> names = {{
        {"", ""}, {"core", ""}, {"cpu_core", "cpu_core"}, {"cpu_atom", "cpu_atom"}, {"CBO", "uncore_cbox"},
        {"QPI LL", "uncore_qpi"}, {"SBO", "uncore_sbox"}, {"iMPH-U", "uncore_arb"}, {"UPI LL", "uncore_upi"},
        {"L3PMC", "amd_l3"}, {"DFPMC", "amd_df"}, {"UMCPMC", "amd_umc"}, {"software", "software"},
        {"tool", "tool"}, {"msr", "msr"}, {"CPU-M-CF", ""}, {"model", "model"},
    }};
    for (const auto& [from, to] : names)
        if (unit == from) return std::string(to);
    return "uncore_" + lower_case(unit);
}

bool is_core(const std::string& pmu) { return pmu.empty() || pmu == "cpu_core" || pmu == "cpu_atom"; }

/// Names that perf's generator encodes itself, whatever the table says: a table's encoding of a fixed
/// counter (event 0) cannot be opened everywhere, while the general event counts the same.
struct FixedEvent {
    std::string_view name;
    std::uint64_t config;
};
constexpr std::array fixed_events = {
    FixedEvent{"inst_retired.any", 0xc0},        FixedEvent{"inst_retired.any_p", 0xc0},
    FixedEvent{"cpu_clk_unhalted.ref", 0x300},   FixedEvent{"cpu_clk_unhalted.thread", 0x3c},
    FixedEvent{"cpu_clk_unhalted.core", 0x3c},   FixedEvent{"cpu_clk_unhalted.thread_any", 0x20003c},
};

/// The field of the extra register that an MSRIndex means.
std::string_view msr_field(std::uint64_t msr) {
    switch (msr) {
        case 0x3f6: return "ldlat";
        case 0x3f7: return "frontend";
        case 0x1a6: case 0x1a7: case 0x3e0: case 0x3e1: case 0x3e2: case 0x3e3: return "offcore_rsp";
        default: return {};
    }
}

void encode(Row& row, PmuFormat table_format, EventDefinition& event) {
    const PmuFormat format = is_core(event.pmu) ? table_format : PmuFormat::other;
    const auto set = [&](std::string_view field, std::uint64_t value) {
        if (const auto done = set_field(event, format, field, value); !done && format != PmuFormat::other)
            row.wrong(done.error().what);
    };
    if (row.has("ConfigCode")) set("config", row.number("ConfigCode"));
    else set("event", row.number("EventCode") | row.number("ExtSel") << 8);
    static constexpr std::array<std::pair<const char*, std::string_view>, 5> fields = {{
        {"UMask", "umask"}, {"CounterMask", "cmask"}, {"EdgeDetect", "edge"}, {"Invert", "inv"}, {"AnyThread", "any"},
    }};
    for (const auto& [key, field] : fields)
        if (const std::uint64_t value = row.number(key)) set(field, value);
    if (is_core(event.pmu) && row.has("MSRIndex")) {
        const std::uint64_t msr = row.number("MSRIndex");
        if (const std::string_view field = msr_field(msr); !field.empty()) set(field, row.number("MSRValue"));
        else if (msr != 0) row.wrong(fmt::format("MSRIndex {:#x} is not known", msr));
    }
    if (table_format != PmuFormat::intel) return;
    const std::string name = lower_case(event.name);
    for (const FixedEvent& fixed : fixed_events)
        if (name == fixed.name) event.config = fixed.config;
}

EventDefinition read_event(Row& row, PmuFormat format) {
    EventDefinition event;
    event.name = row.text("EventName");
    event.pmu = pmu_of_unit(row.text("Unit"));
    event.counters = row.text("Counter");
    event.description = row.text("BriefDescription");
    event.deprecated = row.text("Deprecated") == "1";
    if (row.has("RetirementLatencyMean"))
        event.retire_latency = RetireLatency{row.real("RetirementLatencyMean"), row.real("RetirementLatencyMin"),
                                             row.real("RetirementLatencyMax")};
    encode(row, format, event);
    return event;
}

metrics::MetricDefinition read_metric(Row& row) {
    metrics::MetricDefinition metric;
    metric.name = row.text("MetricName");
    metric.expression = row.text("MetricExpr");
    metric.threshold = row.text("MetricThreshold");
    metric.scale_unit = row.text("ScaleUnit");
    metric.description = row.text("BriefDescription");
    metric.pmu = pmu_of_unit(row.text("Unit"));
    metric.constraint = row.text("MetricConstraint");
    metric.approximate = row.text("Approximate") == "1";
    metric.low_expression = row.text("MetricLow");
    metric.high_expression = row.text("MetricHigh");
    const std::string groups = row.text("MetricGroup");
    for (std::size_t at = 0; at < groups.size();) {
        const std::size_t end = std::min(groups.find(';', at), groups.size());
        if (end > at) metric.groups.push_back(groups.substr(at, end - at));
        at = end + 1;
    }
    if (metric.expression.empty()) row.wrong("MetricExpr is missing or empty");
    for (const auto& [key, text] : {std::pair{"MetricExpr", &metric.expression}, {"MetricThreshold", &metric.threshold},
                                    {"MetricLow", &metric.low_expression}, {"MetricHigh", &metric.high_expression}})
        if (!text->empty())
            if (const auto parsed = metrics::Expression::parse(*text); !parsed) row.wrong(fmt::format("{}: {}", key, parsed.error().what));
    return metric;
}

/// The array of rows that a file holds; null for an object, which is no table.
Result<json> rows_of(const TableFile& file) {
    auto parsed = parse_json(file.label, file.text);
    if (!parsed) return parsed;
    if (parsed->is_object()) return json::array();
    if (!parsed->is_array()) return fail(ErrorCode::bad_input, fmt::format("{}:1:1: not an array of events or metrics", file.label));
    for (const json& row : *parsed)
        if (!row.is_object())
            return fail(ErrorCode::bad_input,
                        fmt::format("{}: an element is not an object: {:.40}", file.label,
                                    dump_line(row)));
    return parsed;
}

/// The row completed by the standard one it names; the encoding is always the standard's.
Result<json> with_standard(const TableFile& file, json row, const StandardRows& standard) {
    const auto named = row.find("ArchStdEvent");
    if (named == row.end()) return row;
    Row reader(file, row);
    const auto found = standard.find(lower_case(reader.text("ArchStdEvent")));
    if (found == standard.end()) {
        reader.wrong("the architecture has no standard event of this name");
        return pass_on(reader.result());
    }
    json completed = row;
    completed.erase("ArchStdEvent");
    for (const auto& [key, value] : found->second.items())
        if (!completed.contains(key) || key == "EventCode" || key == "ConfigCode") completed[key] = value;
    return completed;
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

Result<> read_table_file(const TableFile& file, const StandardRows& standard, Table& table) {
    auto rows = rows_of(file);
    if (!rows) return pass_on(rows);
    for (json& given : *rows) {
        const auto completed = with_standard(file, std::move(given), standard);
        if (!completed) return pass_on(completed);
        Row row(file, *completed);
        if (row.has("EventName")) table.events.push_back(read_event(row, table.format));
        if (row.has("MetricName")) {
            auto metric = read_metric(row);
            // Upstream: the first of a name counts.
            const bool known = std::ranges::any_of(table.metrics, [&](const metrics::MetricDefinition& other) {
                return other.name == metric.name && other.pmu == metric.pmu;
            });
            if (!known) table.metrics.push_back(std::move(metric));
        }
        if (const auto good = row.result(); !good) return good;
    }
    return {};
}

Result<> read_standard_file(const TableFile& file, StandardRows& standard) {
    auto rows = rows_of(file);
    if (!rows) return pass_on(rows);
    for (json& row : *rows)
        for (const char* key : {"EventName", "MetricName"})
            if (const auto name = row.find(key); name != row.end() && name->is_string())
                standard[lower_case(name->get<std::string>())] = row;
    return {};
}

Result<> read_kernel_events(const TableFile& file, Table& table) {
    auto rows = rows_of(file);
    if (!rows) return pass_on(rows);
    static constexpr std::array<std::string_view, 4> format_names = {"intel", "amd", "arm", "other"};
    const std::string_view format = format_names[static_cast<std::size_t>(table.format)];
    for (const json& given : *rows) {
        Row row(file, given);
        const std::string wanted = row.text("Format");
        if (wanted.empty() || wanted == format) table.kernel_events.push_back(read_event(row, table.format));
        if (const auto good = row.result(); !good) return good;
    }
    return {};
}

}  // namespace tmaprobe::events
