#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/event_key.h"
#include "record/kinds.h"

namespace tmaprobe::record {

/// One event's count with all that is needed to judge it.
struct Reading {
    double value = 0;       ///< raw scaled by enabled / running
    std::uint64_t raw = 0;  ///< as the kernel gave it
    std::uint64_t time_enabled_ns = 0;
    std::uint64_t time_running_ns = 0;  ///< 0: not counted, and value means nothing
};

struct Event {
    std::string name;    ///< as the table spells it
    std::string pmu;     ///< "cpu", "cpu_core", "software", "armv8_pmuv3_0", "resctrl", ...
    std::string config;  ///< "0x1000001a0"
    Reading reading;
    int pass = 0;
    int group = 0;
    std::optional<double> low, high;  ///< set by the model or by multiplexing
    Note note = Note::none;
    /// What it counts, from the plan or the table that named it; nothing in a record that was read. Not written.
    std::optional<EventKey> key{};
};

/// One node of the tree or one further metric.
struct Metric {
    std::string name;
    int level = 0;
    std::string parent;
    Category category = Category::none;
    std::string subcategory;  ///< "core", "memory", "latency", ... within the category; may be empty
    double value = 0;
    MetricUnit unit = MetricUnit::none;
    double low = 0, high = 0;
    Status status = Status::unavailable;
    std::string reason;
    std::optional<bool> over_threshold;
    bool bottleneck = false;    ///< on the path that the report marks
    double counted_share = 1;   ///< running / enabled of its least counted event
    std::string says, next;     ///< advice: what a high value means, as in "bound by <says>", and what to try
    bool larger_pages = false;  ///< `next` is about larger pages
    std::string description;
    std::string formula;
    std::vector<std::string> warnings;  ///< flags, e.g. "negative", "above_one"
};

/// Whether metrics of that status have a value.
constexpr bool has_value(Status status) { return status != Status::unavailable && status != Status::not_counted; }

/// Whether the metric has a value: its status says so, and it is a finite number. What is asked everywhere before a
/// value is shown, compared or written.
bool has_value(const Metric& metric);

}  // namespace tmaprobe::record
