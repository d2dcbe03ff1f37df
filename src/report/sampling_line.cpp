#include "report/sampling_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/shell.h"
#include "metrics/evaluate.h"
#include "metrics/expression.h"

namespace tmaprobe::report {
namespace {

using record::Event;
using record::Metric;
using record::Run;

/// Everywhere in the code: where it is sampled tells of no node.
bool is_general(const Event& event) {
    const auto has = [&](std::string_view part) { return event.name.find(part) != std::string::npos; };
    return has("CYCLES") || has("cycles") || has("SLOTS") || event.name.starts_with("slots") ||
           event.name.starts_with("topdown");
}

/// The node's value with other counts than the run's; nothing where the formula cannot be evaluated here.
std::optional<double> value_with(const metrics::Counts& counts, const Metric& node) {
    metrics::MetricDefinition definition;
    definition.name = node.name;
    definition.expression = node.formula;
    const auto values = metrics::evaluate({definition}, {}, counts, {});
    if (!values || values->front().outcome != metrics::Outcome::value) return std::nullopt;
    return values->front().value;
}

metrics::Counts counts_of(const Run& run, const Metric& node) {
    metrics::Counts counts;
    const auto add = [&](const std::string& name, double value) { counts[name] = {value, value, value}; };
    for (const Event& event : run.events)
        if (event.note == record::Note::none) add(event.name, event.reading.value);
    for (const Metric& metric : run.metrics)
        if (metric.name != node.name && has_value(metric)) add(metric.name, metric.value);
    // Only the direction is asked: what the record lacks is taken to be as much as the largest of what it has.
    double largest = 1;
    for (const auto& [name, count] : counts) largest = std::max(largest, count.value);
    if (const auto formula = metrics::Expression::parse(node.formula))
        for (const std::string& name : formula->names())
            if (!counts.contains(name)) add(name, largest);
    return counts;
}

/// What was typed, without where its result went; for a kernel, which is timed alone while perf samples it.
std::vector<std::string> kernel_command(const record::Record& record) {
    constexpr std::array<std::string_view, 5> with_a_value{"--json", "--output", "-o", "--format", "--source"};
    std::vector<std::string> words;
    bool skip = false;
    for (const std::string& word : shell_words(record.command_line)) {
        const std::string name = word.substr(0, word.find('='));
        const bool unwanted = std::ranges::find(with_a_value, name) != with_a_value.end();
        if (!skip && !unwanted) words.push_back(word);
        skip = unwanted && name == word && !skip;
    }
    words.insert(words.end(), {"--source", "none"});
    return words;
}

/// Whose events, and how long.
std::string sampled(const record::Record& record, const Run& run) {
    const auto& parameters = run.parameters;
    const bool command = parameters.command && !parameters.command->empty();
    const std::string until = command ? shell_quoted(*parameters.command) : "sleep 10";
    const auto option = [&](const char* name) {
        const auto found = parameters.options.find(name);
        return found == parameters.options.end() ? std::string() : found->second;
    };
    if (const auto tids = option("tids"); !tids.empty()) return fmt::format("-t {} -- {}", tids, until);
    if (parameters.pid) {
        const auto further = option("further_pids");
        return fmt::format("-p {}{}{} -- {}", *parameters.pid, further.empty() ? "" : ",", further, until);
    }
    if (run.kernel == "command" && !parameters.cpus.empty())
        return fmt::format("-C {} -- {}", fmt::join(parameters.cpus, ","), until);
    if (command) return "-- " + until;
    if (run.kernel == "command") return "-a -- " + until;
    return "-- " + (record.command_line.starts_with("tmaprobe ") ? shell_quoted(kernel_command(record)) : "COMMAND");
}

}  // namespace

const Event* event_to_sample(const Run& run, const Metric& node) {
    const auto counts = counts_of(run, node);
    const auto before = value_with(counts, node);
    if (!before) return nullptr;
    const Event* best = nullptr;
    double most = 0;
    for (const Event& event : run.events) {
        if (is_general(event) || event.config.empty() || event.pmu.empty() || event.pmu == "software" ||
            event.reading.raw == 0)
            continue;
        auto more = counts;
        constexpr double further = 1.01;
        more[event.name].value *= further;
        const auto after = value_with(more, node);
        if (!after || *after - *before <= most) continue;
        most = *after - *before;
        best = &event;
    }
    return best;
}

std::string sampling_line(const record::Record& record, const Run& run, const Event& event) {
    constexpr int period = 200003;  // prime, so that it keeps step with no loop
    return fmt::format("perf record -e {}/config={}/ -c {} {}", event.pmu, event.config, period, sampled(record, run));
}

}  // namespace tmaprobe::report
