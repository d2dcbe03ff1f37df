#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tmaprobe::metrics {

/// One metric as its vendor's table defines it (schema of Linux's tools/perf/pmu-events), plus the
/// neutral reading that events/categories.json gives it.
struct MetricDefinition {
    std::string name;        ///< the vendor's: "tma_fetch_latency"
    std::string expression;  ///< MetricExpr
    std::string threshold;   ///< MetricThreshold, an expression; empty: the vendor gives none
    std::string scale_unit;  ///< ScaleUnit as published: "100%", "1per_instr"; empty: a plain number
    std::string description;
    std::string pmu;                  ///< Unit: "" or "cpu_core" / "cpu_atom" on hybrids
    std::vector<std::string> groups;  ///< MetricGroup, split at ';'
    int level = 0;                    ///< 1..6 in the top-down tree; 0: not in the tree
    std::string parent;               ///< the tree node above; empty at level 1
    std::string category;             ///< frontend|bad_speculation|backend|retiring|other|tlb|...
    std::string subcategory;          ///< finer: "latency", "bandwidth", "memory", ...
    std::string basis;  ///< what the value is a share of: "slots", "cycles", "uops", "parent"; may be empty
    std::optional<double> project_threshold;  ///< this project's own, where the vendor gives none
    std::string says, next;                   ///< advice: "bound by <says>", and what to try; may be empty
    bool larger_pages = false;                ///< `next` is about larger pages
    std::string constraint;                   ///< MetricConstraint: "NO_GROUP_EVENTS", ...; empty: none
    /// The project's own estimate, where the vendor publishes nothing: what the CPU's events cannot tell apart lies
    /// between the two expressions, and `expression` gives a value between them.
    bool approximate = false;
    bool below_tree = false;                      ///< stands below the project's own tree, and is no node of it
    std::string low_expression, high_expression;  ///< MetricLow, MetricHigh; empty: as `expression`
};

}  // namespace tmaprobe::metrics
