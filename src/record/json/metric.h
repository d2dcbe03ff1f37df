// How counts and metrics stand in JSON.
#pragma once

#include <cmath>

#include "base/json/fields.h"
#include "base/json/node.h"
#include "base/json/writer.h"
#include "record/metric.h"

namespace tmaprobe::json {

template <>
struct Description<record::Event> {
    using T = record::Event;
    static constexpr std::string_view name = "event", meaning = "One event's count with all that is needed to judge it";
    static constexpr auto fields = std::make_tuple(
        field("name", &T::name, "As the event table spells it"),
        field("pmu", &T::pmu, "cpu, cpu_core, software, resctrl, ...: who counted it"),
        field("config", &T::config, "perf_event_attr.config in hexadecimal"),
        property(
            "value",
            [](const T& event) {
                const bool has_value = event.reading.time_running_ns > 0 || event.note == record::Note::none;
                return has_value ? std::optional(event.reading.value) : std::nullopt;
            },
            [](T& event, std::optional<double> value) { event.reading.value = value.value_or(0); },
            "raw scaled by enabled / running; null when not counted"),
        property(
            "raw", [](const T& event) { return event.reading.raw; },
            [](T& event, std::uint64_t raw) { event.reading.raw = raw; }, "As the kernel gave it"),
        property(
            "time_enabled_ns", [](const T& event) { return event.reading.time_enabled_ns; },
            [](T& event, std::uint64_t ns) { event.reading.time_enabled_ns = ns; },
            "Nanoseconds in which it was to be counted"),
        property(
            "time_running_ns", [](const T& event) { return event.reading.time_running_ns; },
            [](T& event, std::uint64_t ns) { event.reading.time_running_ns = ns; },
            "Nanoseconds in which it had a counter; 0: not counted"),
        field("pass", &T::pass, "Which run of the workload counted it").at_least(0),
        field("group", &T::group, "Events of one group of a pass were counted at the same time").at_least(0),
        field("low", &T::low, "Bounds of the value by multiplexing or the model; null where it is exact"),
        field("high", &T::high, "Its upper bound"),
        field("note", &T::note, "What is to be known of the count; empty: nothing"));
};

template <>
struct Description<record::Metric> {
    using T = record::Metric;
    using Status = record::Status;
    static constexpr std::string_view name = "metric", meaning = "One node of the tree or one further metric";

    /// A value that is no finite number is none.
    static bool broken(const T& metric) { return record::has_value(metric.status) && !record::has_value(metric); }
    static std::optional<double> shown(const T& metric, double number) {
        return record::has_value(metric) ? std::optional(number) : std::nullopt;
    }
    static constexpr auto fields = std::make_tuple(
        field("name", &T::name, "The vendor's name in its published table"),
        field("level", &T::level, "1 to 6 in the top-down tree; 0: not in the tree").at_least(0),
        field("parent", &T::parent, "Name of the tree node above; empty at level 1"),
        field("category", &T::category, "What it is about, whatever its vendor calls it"),
        field("subcategory", &T::subcategory,
              "Within the category: core, memory, latency, bandwidth, branch, ...; may be empty"),
        property(
            "value", [](const T& metric) { return shown(metric, metric.value); },
            [](T& metric, std::optional<double> value) { metric.value = value.value_or(NAN); },
            "In `unit`: a fraction of slots is 0.061, not 6.1; null when unavailable or not counted"),
        field("unit", &T::unit, "What the value is, or is a fraction of; empty: the vendor does not say"),
        property(
            "low", [](const T& metric) { return shown(metric, metric.low); },
            [](T& metric, std::optional<double> low) { metric.low = low.value_or(NAN); },
            "Bounds of the value by repetition, multiplexing or the model; null when not known"),
        property(
            "high", [](const T& metric) { return shown(metric, metric.high); },
            [](T& metric, std::optional<double> high) { metric.high = high.value_or(NAN); }, "Its upper bound"),
        property(
            "status", [](const T& metric) { return broken(metric) ? Status::unavailable : metric.status; },
            [](T& metric, Status status) { metric.status = status; },
            "measured, modelled, replayed: how the counts came about; approximate: this project's own formula on "
            "counts of a CPU "
            "whose vendor publishes none, where low..high hold what its events cannot tell apart; unavailable, "
            "not_counted: no "
            "value, and `reason` says why"),
        property(
            "reason",
            [](const T& metric) {
                return broken(metric) ? std::string("its formula does not give a finite number") : metric.reason;
            },
            [](T& metric, std::string reason) { metric.reason = std::move(reason); }, "Why there is no value"),
        field("over_threshold", &T::over_threshold, "null: the vendor gives no threshold"),
        field("bottleneck", &T::bottleneck, "On the path that the report marks"),
        field("counted_share", &T::counted_share, "time_running / time_enabled of its least counted event"),
        field("says", &T::says, "What a high value means, as in: bound by <says>"),
        field("next", &T::next, "What to try against it"),
        optional("larger_pages", &T::larger_pages, "True: what to try is about larger pages"),
        field("description", &T::description, "The vendor's"),
        field("formula", &T::formula, "The vendor's, or this project's where the status is approximate"),
        field("warnings", &T::warnings, "Flags: negative, above_one, unbounded, latency_from_table"));

    static void check(const Node& node, T& metric) {
        if (record::has_value(metric.status)) {
            if (std::isnan(metric.value)) node.at("value").number();
        } else {
            if (!std::isnan(metric.value))
                node.at("value").complain("is not null although the metric is " + text_of(metric.status));
            metric.value = metric.low = metric.high = 0;
        }
        if (std::isnan(metric.counted_share)) metric.counted_share = 0;
    }
    /// What no type says: a metric has a value where its status says so, and only there.
    static void write_rules(Writer& writer) {
        const auto value_is = [&](std::string_view rule, std::string_view type) {
            writer.key(rule);
            writer.begin_object();
            writer.key("properties");
            writer.begin_object();
            writer.key("value");
            writer.begin_object();
            writer.member("type", type);
            for (int depth = 0; depth < 3; ++depth) writer.end_object();
        };
        writer.key("if");
        writer.begin_object();
        writer.key("properties");
        writer.begin_object();
        writer.key("status");
        writer.begin_object();
        writer.member("enum", std::vector<std::string>{text_of(Status::unavailable), text_of(Status::not_counted)});
        for (int depth = 0; depth < 3; ++depth) writer.end_object();
        value_is("then", "null");
        value_is("else", "number");
    }
};

}  // namespace tmaprobe::json
