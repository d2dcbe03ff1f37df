#pragma once

// What the model's tests share: a workload from a function, a plan with every event that a metric could
// want, and the metrics evaluated.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "events/table.h"
#include "machine/host.h"
#include "metrics/evaluate.h"
#include "metrics/expression.h"
#include "model/model.h"

namespace tmaprobe::model {

class FunctionWorkload final : public counters::Workload {
  public:
    explicit FunctionWorkload(std::function<void(std::uint64_t)> body) : body_(std::move(body)) {}
    void run(std::uint64_t iterations) override { body_(iterations); }

  private:
    std::function<void(std::uint64_t)> body_;
};

class CommandWorkload final : public counters::Workload {
  public:
    explicit CommandWorkload(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
    std::vector<std::string> command() const override { return arguments_; }
    void run(std::uint64_t) override {}

  private:
    std::vector<std::string> arguments_;
};

struct Evaluated {
    counters::Sample sample;
    std::map<std::string, double> metrics;       ///< those with a value
    std::map<std::string, std::string> reasons;  ///< of the others
    double cycles = 0, instructions = 0;
    double at(const std::string& name) const {
        const auto found = metrics.find(name);
        EXPECT_NE(found, metrics.end()) << name << ": " << (reasons.count(name) ? reasons.at(name) : "no such metric");
        return found == metrics.end() ? -1 : found->second;
    }
};

inline machine::Host host_of_test() {
    machine::Host host;
#if defined(__aarch64__)
    host.architecture = "aarch64";
#else
    host.architecture = "x86_64";
#endif
    return host;
}

inline metrics::Constants constants_of_test(const events::Table& table) {
    metrics::Constants constants;
    constants.values = {{"#smt_on", 0},   {"#core_wide", 0},       {"#slots", 8},     {"#system_tsc_freq", 2e9},
                        {"#num_cpus", 1}, {"#num_cpus_online", 1}, {"#num_cores", 1}, {"#num_packages", 1},
                        {"#num_dies", 1}, {"#has_pmem", 0}};
    constants.cpu_id = table.cpu_id;
    return constants;
}

/// Every event of the tree's first two levels and of the translation metrics, in one group.
inline counters::Plan plan_of(const events::Table& table, const std::vector<std::string>& wanted) {
    counters::Plan plan;
    plan.passes.resize(1);
    plan.passes[0].groups.resize(1);
    const auto names = metrics::events_needed(table.metrics, wanted, constants_of_test(table));
    if (!names) return plan;
    for (const std::string& name : *names)
        if (auto definition = events::resolve(table, name))
            plan.passes[0].groups[0].events.push_back({name, *definition, false});
    return plan;
}

inline std::vector<std::string> tree_metrics(const events::Table& table) {
    std::vector<std::string> names;
    for (const auto& metric : table.metrics)
        if ((metric.level >= 1 && metric.level <= 2 && !metric.approximate) || metric.name.rfind("tlb_", 0) == 0)
            names.push_back(metric.name);
    return names;
}

/// Runs the model on a workload for a target and evaluates its metrics. Fails the test on an error.
inline Evaluated model_of(counters::Workload& workload, const std::string& target, const ModelOptions& options = {},
                          std::uint64_t iterations = 1000) {
    Evaluated out;
    auto table = events::load({}, target);
    if (!table) {
        ADD_FAILURE() << table.error().what;
        return out;
    }
    auto source = make_source({}, *table, host_of_test(), options);
    if (!source) {
        ADD_FAILURE() << source.error().what;
        return out;
    }
    const std::vector<std::string> wanted = tree_metrics(*table);
    const counters::Plan plan = plan_of(*table, wanted);
    EXPECT_TRUE((*source)->prepare(plan).has_value());
    auto sample = (*source)->measure(workload, {0, 0, iterations});
    if (!sample) {
        ADD_FAILURE() << sample.error().what;
        return out;
    }
    out.sample = std::move(*sample);
    std::map<std::string, std::string> planned;  // as expressions spell it, by the name that is shown
    for (const auto& event : plan.passes[0].groups[0].events)
        planned[metrics::without_escapes(event.name)] = event.name;
    metrics::Counts counts;
    for (const auto& event : out.sample.events)
        counts[planned[event.name]] = {event.reading.value, event.reading.value, event.reading.value, true};
    auto values = metrics::evaluate(table->metrics, wanted, counts, constants_of_test(*table));
    if (!values) {
        ADD_FAILURE() << values.error().what;
        return out;
    }
    for (const auto& value : *values) {
        if (value.outcome == metrics::Outcome::value)
            out.metrics[value.name] = value.value;
        else
            out.reasons[value.name] = value.reason;
    }
    if (!out.sample.model) return out;
    out.cycles = out.sample.model->cycles;
    out.instructions = static_cast<double>(out.sample.model->simulated_instructions);
    return out;
}

inline bool report_all(const Evaluated& evaluated) {
    for (const auto& [name, value] : evaluated.metrics) std::printf("  %-40s %.4f\n", name.c_str(), value);
    for (const auto& [name, reason] : evaluated.reasons) std::printf("  %-40s %s\n", name.c_str(), reason.c_str());
    return true;
}

}  // namespace tmaprobe::model
