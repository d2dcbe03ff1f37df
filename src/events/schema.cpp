#include "events/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/json/value.h"
#include "events/encoding.h"
#include "metrics/expression.h"

namespace tmaprobe::events {
namespace {

/// Reads the values of one row and keeps the first thing that is wrong with it. A standard row completes it: what it
/// lacks is the standard's, and the encoding always is.
class Row {
  public:
    Row(const TableFile& file, json::Value row, json::Value standard = {})
        : file_(file), row_(row), standard_(standard) {}

    bool has(std::string_view key) const { return !find(key).missing(); }

    std::string text(const char* key) {
        const json::Value found = find(key);
        const bool scalar = found.is_text() || found.is_number() || found.is_bool();
        if (!found.missing() && !scalar) wrong(fmt::format("{} is neither text nor a number", key));
        return found.scalar_text();
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
        const json::Value found = find(key);
        if (!found.missing() && !found.is_number()) wrong(fmt::format("{} is not a number", key));
        return found.number_or(0);
    }

    void wrong(std::string what) {
        if (problem_.empty()) problem_ = std::move(what);
    }

    Result<> result() const {
        if (problem_.empty()) return {};
        std::string name = "a row";
        std::size_t byte = 0;
        for (const char* key : {"EventName", "MetricName", "ArchStdEvent"})
            if (const auto found = row_.at(key).text()) {
                name = *found;
                const std::size_t at = file_.text.find('"' + name + '"');
                byte = at == std::string::npos ? 0 : at;
                break;
            }
        return fail(ErrorCode::bad_input,
                    fmt::format("{}: {}: {}", json::place_in(file_.label, file_.text, byte), name, problem_));
    }

  private:
    json::Value find(std::string_view key) const {
        if (standard_.missing()) return row_.at(key);
        const json::Value own = row_.at(key), standard = standard_.at(key);
        const bool encoding = key == "EventCode" || key == "ConfigCode";
        return own.missing() || (encoding && !standard.missing()) ? standard : own;
    }

    const TableFile& file_;
    json::Value row_, standard_;
    std::string problem_;
};

/// The kernel's name of the PMU that an upstream Unit means; "" for the core's.
std::string pmu_of_unit(const std::string& unit) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 17> names = {{
        {"", ""},
        {"core", ""},
        {"cpu_core", "cpu_core"},
        {"cpu_atom", "cpu_atom"},
        {"CBO", "uncore_cbox"},
        {"QPI LL", "uncore_qpi"},
        {"SBO", "uncore_sbox"},
        {"iMPH-U", "uncore_arb"},
        {"UPI LL", "uncore_upi"},
        {"L3PMC", "amd_l3"},
        {"DFPMC", "amd_df"},
        {"UMCPMC", "amd_umc"},
        {"software", "software"},
        {"tool", "tool"},
        {"msr", "msr"},
        {"CPU-M-CF", ""},
        {"model", "model"},
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
    FixedEvent{"inst_retired.any", 0xc0},      FixedEvent{"inst_retired.any_p", 0xc0},
    FixedEvent{"cpu_clk_unhalted.ref", 0x300}, FixedEvent{"cpu_clk_unhalted.thread", 0x3c},
    FixedEvent{"cpu_clk_unhalted.core", 0x3c}, FixedEvent{"cpu_clk_unhalted.thread_any", 0x20003c},
};

/// The field of the extra register that an MSRIndex means.
std::string_view msr_field(std::uint64_t msr) {
    switch (msr) {
        case 0x3f6:
            return "ldlat";
        case 0x3f7:
            return "frontend";
        case 0x1a6:
        case 0x1a7:
        case 0x3e0:
        case 0x3e1:
        case 0x3e2:
        case 0x3e3:
            return "offcore_rsp";
        default:
            return {};
    }
}

void encode(Row& row, PmuFormat table_format, EventDefinition& event) {
    const PmuFormat format = is_core(event.pmu) ? table_format : PmuFormat::other;
    const auto set = [&](std::string_view field, std::uint64_t value) {
        if (const auto done = set_field(event, format, field, value); !done && format != PmuFormat::other)
            row.wrong(done.error().what);
    };
    if (row.has("ConfigCode"))
        set("config", row.number("ConfigCode"));
    else
        set("event", row.number("EventCode") | row.number("ExtSel") << 8);
    static constexpr std::array<std::pair<const char*, std::string_view>, 5> fields = {{
        {"UMask", "umask"},
        {"CounterMask", "cmask"},
        {"EdgeDetect", "edge"},
        {"Invert", "inv"},
        {"AnyThread", "any"},
    }};
    for (const auto& [key, field] : fields)
        if (const std::uint64_t value = row.number(key)) set(field, value);
    if (is_core(event.pmu) && row.has("MSRIndex")) {
        const std::uint64_t msr = row.number("MSRIndex");
        if (const std::string_view field = msr_field(msr); !field.empty())
            set(field, row.number("MSRValue"));
        else if (msr != 0)
            row.wrong(fmt::format("MSRIndex {:#x} is not known", msr));
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
    metric.below_tree = std::ranges::find(metric.groups, "BelowTree") != metric.groups.end();
    if (metric.expression.empty()) row.wrong("MetricExpr is missing or empty");
    for (const auto& [key, text] : {std::pair{"MetricExpr", &metric.expression},
                                    {"MetricThreshold", &metric.threshold},
                                    {"MetricLow", &metric.low_expression},
                                    {"MetricHigh", &metric.high_expression}})
        if (!text->empty())
            if (const auto parsed = metrics::Expression::parse(*text); !parsed)
                row.wrong(fmt::format("{}: {}", key, parsed.error().what));
    return metric;
}

/// A file's text, which holds an array of rows, or an object, which is no table.
Result<json::Document> parse_rows(const TableFile& file) {
    auto parsed = json::parse(file.text, file.label);
    if (!parsed) return parsed;
    const json::Value root = parsed->root();
    if (root.is_object()) return parsed;
    if (!root.is_array())
        return fail(ErrorCode::bad_input, fmt::format("{}:1:1: not an array of events or metrics", file.label));
    for (const json::Value row : root)
        if (!row.is_object())
            return fail(ErrorCode::bad_input, fmt::format("{}: an element is not an object: {} {:.40}", file.label,
                                                          row.kind_name(), row.scalar_text()));
    return parsed;
}

/// The elements; none of an object.
json::Value rows_of(const json::Document& document) {
    return document.root().is_array() ? document.root() : json::Value();
}

/// The standard row that the row names; missing where it names none.
Result<json::Value> standard_of(const TableFile& file, json::Value row, const StandardRows& standard) {
    if (row.at("ArchStdEvent").missing()) return json::Value();
    Row reader(file, row);
    const auto found = standard.rows.find(lower_case(reader.text("ArchStdEvent")));
    if (found != standard.rows.end()) return found->second;
    reader.wrong("the architecture has no standard event of this name");
    return pass_on(reader.result());
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

Result<> read_table_file(const TableFile& file, const StandardRows& standard, Table& table) {
    const auto document = TRY(parse_rows(file));
    for (const json::Value given : rows_of(document)) {
        const auto completed_by = TRY(standard_of(file, given, standard));
        Row row(file, given, completed_by);
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
    auto document = TRY(parse_rows(file));
    for (const json::Value row : rows_of(document))
        for (const char* key : {"EventName", "MetricName"})
            if (const auto name = row.at(key).text()) standard.rows[lower_case(*name)] = row;
    standard.documents.push_back(std::move(document));
    return {};
}

Result<> read_kernel_events(const TableFile& file, Table& table) {
    const auto document = TRY(parse_rows(file));
    static constexpr std::array<std::string_view, 4> format_names = {"intel", "amd", "arm", "other"};
    const std::string_view format = format_names[static_cast<std::size_t>(table.format)];
    for (const json::Value given : rows_of(document)) {
        Row row(file, given);
        const std::string wanted = row.text("Format");
        if (wanted.empty() || wanted == format) table.kernel_events.push_back(read_event(row, table.format));
        if (const auto good = row.result(); !good) return good;
    }
    return {};
}

}  // namespace tmaprobe::events
