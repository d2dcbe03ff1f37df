#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/suggest.h"
#include "record/record.h"

namespace tmaprobe::record {
namespace {

using nlohmann::json;

/// One value of the document and the way to it, which is spelt out only for a complaint. The first thing
/// that is not as it should be is kept in `problem`, shared by all; after it, whatever is read means
/// nothing. A node refers to the node that it was reached from, which must outlive it.
class Node {
  public:
    Node(const json& document, std::string& problem) : value_(&document), problem_(&problem) {}

    Node at(const char* key) const {
        static const json nothing;
        if (!value_->is_object()) {
            complain("is not an object");
            return {nothing, *this, key, 0};
        }
        const auto found = value_->find(key);
        const Node node(found == value_->end() ? nothing : *found, *this, key, 0);
        if (found == value_->end()) node.complain("is missing");
        return node;
    }

    bool is_null() const { return value_->is_null(); }
    const json& value() const { return *value_; }

    std::string text() const {
        if (!value_->is_string()) return complain("is not a string"), "";
        return value_->get<std::string>();
    }
    /// A string that the schema lists.
    template <std::size_t N>
    std::string choice(const std::array<const char*, N>& allowed) const {
        const std::string given = text();
        for (const char* one : allowed)
            if (given == one) return given;
        complain(fmt::format("is '{}'; {}", given, suggest(given, {allowed.begin(), allowed.end()})));
        return given;
    }
    double number() const {
        if (!value_->is_number()) return complain("is not a number"), 0.0;
        return value_->get<double>();
    }
    double number_or_unknown() const {
        return is_null() ? std::numeric_limits<double>::quiet_NaN() : number();
    }
    std::optional<double> optional_number() const {
        return is_null() ? std::nullopt : std::optional(number());
    }
    bool flag() const {
        if (!value_->is_boolean()) return complain("is not true or false"), false;
        return value_->get<bool>();
    }
    std::uint64_t count() const {
        if (!value_->is_number_unsigned() && !(value_->is_number_integer() && value_->get<std::int64_t>() >= 0))
            return complain("is not a whole number of 0 or more"), 0;
        return value_->get<std::uint64_t>();
    }
    int small_count() const {
        const std::uint64_t given = count();
        if (given > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return complain("is too large"), 0;
        return static_cast<int>(given);
    }
    const json& object() const {
        if (!value_->is_object()) complain("is not an object");
        return *value_;
    }
    template <class Read>
    auto list(const Read& read) const {
        std::vector<decltype(read(*this))> items;
        if (!value_->is_array()) return complain("is not an array"), items;
        items.reserve(value_->size());
        for (std::size_t i = 0; i < value_->size(); ++i)
            items.push_back(read(Node((*value_)[i], *this, nullptr, i)));
        return items;
    }
    void complain(const std::string& what) const {
        if (problem_->empty()) *problem_ = (from_ ? path() : "the record") + " " + what;
    }

  private:
    Node(const json& value, const Node& from, const char* key, std::size_t index)
        : value_(&value), problem_(from.problem_), from_(&from), key_(key), index_(index) {}

    std::string path() const {
        if (!from_) return {};
        const std::string before = from_->path();
        if (!key_) return fmt::format("{}[{}]", before, index_);
        return before.empty() ? key_ : before + "." + key_;
    }

    const json* value_;
    std::string* problem_;
    const Node* from_ = nullptr;
    const char* key_ = nullptr;  ///< null: an element of an array, at index_
    std::size_t index_ = 0;
};

Summary read_summary(const Node& node) {
    Summary summary;
    if (node.is_null()) return summary;
    summary.count = node.at("count").count();
    summary.median = node.at("median").number_or_unknown();
    summary.min = node.at("min").number_or_unknown();
    summary.max = node.at("max").number_or_unknown();
    summary.mad = node.at("mad").number_or_unknown();
    summary.low = node.at("low").number_or_unknown();
    summary.high = node.at("high").number_or_unknown();
    return summary;
}

Time read_time(const Node& node) {
    Time time;
    time.known = node.at("status").choice(std::array{"measured", "unavailable"}) == "measured";
    time.reason = node.at("reason").text();
    time.operation = node.at("operation").text();
    time.ns_per_op = read_summary(node.at("ns_per_op"));
    time.bytes_per_second = read_summary(node.at("bytes_per_second"));
    time.cycles_per_op = read_summary(node.at("cycles_per_op"));
    time.cycles_per_byte = node.at("cycles_per_byte").optional_number().value_or(0);
    time.cycles_source = node.at("cycles_source").text();
    time.clean = node.at("clean").small_count();
    time.disturbed = node.at("disturbed").small_count();
    if (node.at("repetitions").count() != time.ns_per_op.count)
        node.at("repetitions").complain("differs from ns_per_op.count");
    if (time.known && time.ns_per_op.count == 0) node.complain("is measured but has no ns_per_op");
    return time;
}

Event read_event(const Node& node) {
    Event event;
    event.name = node.at("name").text();
    event.pmu = node.at("pmu").text();
    event.config = node.at("config").text();
    event.reading.value = node.at("value").optional_number().value_or(0);
    event.reading.raw = node.at("raw").count();
    event.reading.time_enabled_ns = node.at("time_enabled_ns").count();
    event.reading.time_running_ns = node.at("time_running_ns").count();
    event.pass = node.at("pass").small_count();
    event.group = node.at("group").small_count();
    event.low = node.at("low").optional_number();
    event.high = node.at("high").optional_number();
    event.note = node.at("note").text();
    return event;
}

Metric read_metric(const Node& node) {
    Metric metric;
    metric.name = node.at("name").text();
    metric.level = node.at("level").small_count();
    metric.parent = node.at("parent").text();
    metric.category = node.at("category").text();
    metric.subcategory = node.at("subcategory").text();
    metric.unit = node.at("unit").text();
    metric.status = node.at("status").choice(
        std::array{"measured", "modelled", "replayed", "unavailable", "not_counted"});
    const bool has_value = metric.status != "unavailable" && metric.status != "not_counted";
    if (has_value) {
        metric.value = node.at("value").number();
        metric.low = node.at("low").number_or_unknown();
        metric.high = node.at("high").number_or_unknown();
    } else if (!node.at("value").is_null()) {
        node.at("value").complain("is not null although the metric is " + metric.status);
    }
    metric.reason = node.at("reason").text();
    if (const Node over = node.at("over_threshold"); !over.is_null()) metric.over_threshold = over.flag();
    metric.bottleneck = node.at("bottleneck").flag();
    metric.counted_share = node.at("counted_share").optional_number().value_or(0);
    metric.says = node.at("says").text();
    metric.next = node.at("next").text();
    metric.description = node.at("description").text();
    metric.formula = node.at("formula").text();
    metric.warnings = node.at("warnings").list([](const Node& warning) { return warning.text(); });
    return metric;
}

Pages read_pages(const Node& node) {
    Pages pages;
    pages.requested = node.at("requested").text();
    pages.effective = node.at("effective").text();
    const Node obtained = node.at("obtained_bytes");
    for (const auto& [size, bytes] : obtained.object().items())
        pages.obtained_bytes[size] = obtained.at(size.c_str()).count();
    return pages;
}

Run read_run(const Node& node) {
    Run run;
    run.kernel = node.at("kernel").text();
    run.variant = node.at("variant").text();
    run.parameters = node.at("parameters").object();
    if (const Node pages = node.at("pages"); !pages.is_null()) run.pages = read_pages(pages);
    run.time = read_time(node.at("time"));
    run.events = node.at("events").list(read_event);
    run.metrics = node.at("metrics").list(read_metric);
    run.extra = node.at("extra").object();
    return run;
}

Warning read_warning(const Node& node) {
    return {node.at("id").text(), node.at("what").text(), node.at("hint").text()};
}

json read_host(const Node& node) {
    for (const char* key : {"cpu_id", "cpu_model", "kernel", "hypervisor"})
        if (const Node known = node.at(key); !known.is_null()) known.text();
    if (const Node cpus = node.at("logical_cpus"); !cpus.is_null()) cpus.count();
    if (const Node level = node.at("perf_event_paranoid"); !level.is_null()) level.number();
    for (const char* key : {"caches", "tlbs"})
        node.at(key).list([](const Node& item) { return item.object().size(); });
    return node.object();
}

Record read_record(const Node& node) {
    Record record;
    record.experiment =
        node.at("experiment").choice(std::array{"run", "sweep", "pairs", "interference", "replay"});
    record.tool_version = node.at("tool").at("version").text();
    record.started = node.at("started").text();
    record.command_line = node.at("command_line").text();
    record.partial = node.at("partial").flag();
    record.host = read_host(node.at("host"));
    const Node source = node.at("source");
    record.source.kind = source.at("kind").choice(std::array{"perf", "replay", "model", "none"});
    record.source.target = source.at("target").text();
    record.source.detail = source.at("detail").text();
    record.runs = node.at("runs").list(read_run);
    record.warnings = node.at("warnings").list(read_warning);
    record.extra = node.at("extra").object();
    return record;
}

/// Why `document` is no record of this version, or empty.
std::string schema_problem(const json& document) {
    if (!document.is_object()) return "it is not a JSON object";
    const auto schema = document.find("schema");
    if (schema == document.end()) return "it has no \"schema\": it is no record of tmaprobe";
    if (!schema->is_string()) return "schema is not a string";
    const auto& name = schema->get_ref<const std::string&>();
    if (name == schema_name) return {};
    if (name.starts_with("tmaprobe.record/"))
        return fmt::format("it is a {}, and this tmaprobe reads {}", name, schema_name);
    return fmt::format("its schema is '{}', not {}", name, schema_name);
}

}  // namespace

Result<Record> from_json(const json& document) {
    if (const auto problem = schema_problem(document); !problem.empty())
        return fail(ErrorCode::bad_input, problem, "records are what tmaprobe writes with --json");
    std::string problem;
    Record record = read_record(Node(document, problem));
    if (!problem.empty())
        return fail(ErrorCode::bad_input, problem, "docs/record.schema.json says what a record holds");
    return record;
}

}  // namespace tmaprobe::record
