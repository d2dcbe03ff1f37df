#include "record/read.h"

#include <fmt/format.h>

#include "record/node.h"

namespace tmaprobe::record {
namespace {

Summary read_summary(const Node& node) {
    Summary summary;
    if (node.is_null()) return summary;
    summary.count = node.at("count").count();
    node.numbers_or_unknown({{"median", &summary.median}, {"min", &summary.min}, {"max", &summary.max},
                             {"mad", &summary.mad}, {"low", &summary.low}, {"high", &summary.high}});
    // Records of earlier versions do not say it.
    if (node.has("confidence")) summary.confidence = node.at("confidence").optional_number().value_or(0);
    return summary;
}

DisturbedBy read_cause(const Node& node) {
    DisturbedBy causes;
    const std::string name = node.at("cause").text();
    if (const auto cause = cause_named(name))
        causes.cause = *cause;
    else
        node.at("cause").complain("is no cause of a disturbance that this version knows: " + name);
    causes.repetitions = node.at("repetitions").small_count();
    node.numbers_or_unknown({{"median", &causes.median}, {"most", &causes.most}});
    return causes;
}

Tracing read_tracing(const Node& node) {
    Tracing tracing;
    node.numbers_or_unknown({{"elapsed_ns", &tracing.elapsed_ns}, {"added_ns", &tracing.added_ns},
                             {"added_low_ns", &tracing.added_low_ns}, {"added_high_ns", &tracing.added_high_ns}});
    return tracing;
}

ProcessorTime read_processor(const Node& node) {
    ProcessorTime processor;
    node.numbers_or_unknown({{"user_ns", &processor.user_ns}, {"system_ns", &processor.system_ns}});
    return processor;
}

Time read_time(const Node& node) {
    Time time;
    time.known = node.at("status").choice({"measured", "unavailable"}) == "measured";
    node.texts({{"reason", &time.reason}, {"operation", &time.operation}, {"cycles_source", &time.cycles_source}});
    time.ns_per_op = read_summary(node.at("ns_per_op"));
    time.bytes_per_second = read_summary(node.at("bytes_per_second"));
    time.cycles_per_op = read_summary(node.at("cycles_per_op"));
    time.cycles_per_byte = node.at("cycles_per_byte").optional_number().value_or(0);
    node.small_counts({{"clean", &time.clean}, {"disturbed", &time.disturbed}});
    // Records of earlier versions have neither.
    if (node.has("causes")) time.causes = node.at("causes").list(read_cause);
    if (node.has("clock")) time.clock = node.at("clock").choice({"wall", "processor"});
    // Older records have neither.
    if (node.has("tracing") && !node.at("tracing").is_null()) time.tracing = read_tracing(node.at("tracing"));
    if (node.has("processor") && !node.at("processor").is_null()) time.processor = read_processor(node.at("processor"));
    if (node.at("repetitions").count() != time.ns_per_op.count)
        node.at("repetitions").complain("differs from ns_per_op.count");
    if (time.known && time.ns_per_op.count == 0) node.complain("is measured but has no ns_per_op");
    return time;
}

Event read_event(const Node& node) {
    Event event;
    auto& reading = event.reading;
    node.texts({{"name", &event.name}, {"pmu", &event.pmu}, {"config", &event.config}, {"note", &event.note}});
    reading.value = node.at("value").optional_number().value_or(0);
    node.counts({{"raw", &reading.raw}, {"time_enabled_ns", &reading.time_enabled_ns}, {"time_running_ns", &reading.time_running_ns}});
    node.small_counts({{"pass", &event.pass}, {"group", &event.group}});
    event.low = node.at("low").optional_number();
    event.high = node.at("high").optional_number();
    return event;
}

Metric read_metric(const Node& node) {
    Metric metric;
    node.texts({{"name", &metric.name}, {"parent", &metric.parent}, {"category", &metric.category},
                {"subcategory", &metric.subcategory}, {"unit", &metric.unit}, {"reason", &metric.reason},
                {"says", &metric.says}, {"next", &metric.next}, {"description", &metric.description},
                {"formula", &metric.formula}});
    metric.level = node.at("level").small_count();
    metric.status = node.at("status").choice({"measured", "modelled", "replayed", "approximate", "unavailable", "not_counted"});
    const bool has_value = metric.status != "unavailable" && metric.status != "not_counted";
    if (has_value)
        metric.value = node.at("value").number();
    else if (!node.at("value").is_null())
        node.at("value").complain("is not null although the metric is " + metric.status);
    double low = 0, high = 0;
    node.numbers_or_unknown({{"low", &low}, {"high", &high}});
    if (has_value) metric.low = low, metric.high = high;
    if (const Node over = node.at("over_threshold"); !over.is_null()) metric.over_threshold = over.flag();
    metric.bottleneck = node.at("bottleneck").flag();
    metric.counted_share = node.at("counted_share").optional_number().value_or(0);
    metric.warnings = node.at("warnings").list([](const Node& warning) { return warning.text(); });
    return metric;
}

Pages read_pages(const Node& node) {
    Pages pages;
    node.texts({{"requested", &pages.requested}, {"effective", &pages.effective}});
    node.at("obtained_bytes").each_member([&](const char* size, const Node& bytes) { pages.obtained_bytes[size] = bytes.count(); });
    return pages;
}

Run read_run(const Node& node) {
    Run run;
    node.texts({{"kernel", &run.kernel}, {"variant", &run.variant}});
    run.parameters = node.at("parameters").object();
    if (const Node pages = node.at("pages"); !pages.is_null()) run.pages = read_pages(pages);
    run.time = read_time(node.at("time"));
    run.events = node.at("events").list(read_event);
    run.metrics = node.at("metrics").list(read_metric);
    run.extra = node.at("extra").object();
    return run;
}

Warning read_warning(const Node& node) {
    Warning warning;
    node.texts({{"id", &warning.id}, {"what", &warning.what}, {"hint", &warning.hint}});
    return warning;
}

nlohmann::json read_host(const Node& node) {
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
    record.experiment = node.at("experiment").choice({"run", "sweep", "pairs", "interference", "replay"});
    record.tool_version = node.at("tool").at("version").text();
    node.texts({{"started", &record.started}, {"command_line", &record.command_line}});
    record.partial = node.at("partial").flag();
    record.host = read_host(node.at("host"));
    const Node source = node.at("source");
    record.source.kind = source.at("kind").choice({"perf", "replay", "model", "none"});
    source.texts({{"target", &record.source.target}, {"detail", &record.source.detail}});
    record.runs = node.at("runs").list(read_run);
    record.warnings = node.at("warnings").list(read_warning);
    record.extra = node.at("extra").object();
    return record;
}

/// Why `document` is no record of this version, or empty.
std::string schema_problem(const rapidjson::Value& document) {
    if (!document.IsObject()) return "it is not a JSON object";
    const auto schema = document.FindMember("schema");
    if (schema == document.MemberEnd()) return "it has no \"schema\": it is no record of tmaprobe";
    if (!schema->value.IsString()) return "schema is not a string";
    const std::string name(schema->value.GetString(), schema->value.GetStringLength());
    if (name == schema_name) return {};
    if (name.starts_with("tmaprobe.record/"))
        return fmt::format("it is a {}, and this tmaprobe reads {}", name, schema_name);
    return fmt::format("its schema is '{}', not {}", name, schema_name);
}

}  // namespace

Result<Record> read_document(const rapidjson::Value& document) {
    if (const auto problem = schema_problem(document); !problem.empty())
        return fail(ErrorCode::bad_input, problem, "records are what tmaprobe writes with --json");
    std::string problem;
    Record record = read_record(Node(document, problem));
    if (!problem.empty())
        return fail(ErrorCode::bad_input, problem, "docs/record.schema.json says what a record holds");
    return record;
}

}  // namespace tmaprobe::record
