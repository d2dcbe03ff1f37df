#include "experiments/replay.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "counters/replay/replay.h"
#include "experiments/assess.h"
#include "experiments/host_json.h"
#include "experiments/hybrid.h"
#include "experiments/series.h"
#include "experiments/setup.h"
#include "machine/host.h"

namespace tmaprobe::experiments {
namespace {

using counters::replay::Matched;
using counters::replay::Snapshot;

metrics::Constants constants_of(const ReplayRequest& request, const events::Table& table) {
    metrics::Constants constants;
    constants.cpu_id = table.cpu_id;
    constants.values["#smt_on"] = request.smt.value_or(false) ? 1 : 0;
    constants.values["#core_wide"] = request.system_wide.value_or(false) ? 1 : 0;
    if (request.slots) constants.values["#slots"] = *request.slots;
    constants.values["#has_pmem"] = 0;
    return constants;
}

/// Whether setting a constant to 1 changes any metric of the run.
Result<bool> matters(const char* constant, const events::Table& table, const std::vector<record::Event>& events,
                     AssessRequest assessment) {
    std::vector<record::Metric> values[2];
    for (const int on : {0, 1}) {
        assessment.constants.values[constant] = on;
        auto metrics = assess(table, events, assessment);
        if (!metrics) return pass_on(metrics);
        values[on] = std::move(*metrics);
    }
    return !std::ranges::equal(values[0], values[1], [](const record::Metric& a, const record::Metric& b) {
        return a.value == b.value && a.status == b.status;
    });
}

/// What was taken for granted about the machine that counted, as far as it shows.
Result<> say_assumptions(const ReplayRequest& request, const events::Table& table, const AssessRequest& assessment,
                         record::Record& record) {
    const auto& events = record.runs.back().events;
    if (!request.smt) {
        const auto differs = matters("#smt_on", table, events, assessment);
        if (!differs) return pass_on(differs);
        if (*differs) record.warnings.push_back({"smt_assumed_off", "SMT is taken as off where the formulas ask", "--smt 1 if it was on"});
    }
    if (!request.system_wide) {
        const auto differs = matters("#core_wide", table, events, assessment);
        if (!differs) return pass_on(differs);
        if (*differs)
            record.warnings.push_back({"system_wide_assumed_off", "the counts are taken as those of single threads",
                                       "--system-wide 1 if they come from perf stat -a"});
    }
    const bool asks = std::ranges::any_of(record.runs.back().metrics, [](const record::Metric& metric) {
        return metric.formula.find("#slots") != std::string::npos;
    });
    if (!request.slots && asks && table.slots_per_cycle)
        record.warnings.push_back({"slots_from_table", fmt::format("{} slots per cycle, from the table", *table.slots_per_cycle),
                                   "--slots N if caps/slots of the machine's PMU in sysfs says otherwise"});
    return {};
}

/// The counts of all files; each file is one pass.
struct Counts {
    Matched matched;
    std::vector<Snapshot> series;  ///< intervals, when there is one file
    std::string label;
};

Result<Counts> read_files(const ReplayRequest& request, const events::Table& table) {
    Counts counts;
    for (std::size_t pass = 0; pass < request.files.size(); ++pass) {
        const std::string label = request.files[pass].string();
        if (std::ranges::count(request.files, request.files[pass]) > 1)
            return fail(ErrorCode::bad_usage, fmt::format("{} is named twice", label), "each file is one pass over the workload");
        auto snapshots = counters::replay::read_counts(request.files[pass]);
        if (!snapshots) return pass_on(snapshots);
        auto matched = counters::replay::match_all(label, *snapshots, table);
        if (!matched) return pass_on(matched);
        for (record::Event& event : matched->events) {
            event.pass = static_cast<int>(pass);
            counts.matched.events.push_back(std::move(event));
        }
        auto& warnings = counts.matched.warnings;
        warnings.insert(warnings.end(), matched->warnings.begin(), matched->warnings.end());
        counts.label += (pass > 0 ? ", " : "") + label;
        if (request.files.size() == 1 && snapshots->size() > 1) counts.series = std::move(*snapshots);
    }
    return counts;
}

/// Counts taken where PERF_METRICS was hidden have slots on an ordinary counter and no topdown-* beside
/// them: then the formulas that do without stand in.
Result<> adapt_to_counts(const ReplayRequest& request, const std::vector<record::Event>& events, events::Table& table,
                         std::vector<record::Warning>& warnings) {
    const auto counted = [&](const char* spelling) {
        const auto wanted = events::resolve(table, spelling);
        return wanted && std::ranges::any_of(events, [&](const record::Event& event) {
                   return event.note != "not_supported" && event.pmu != "cpu_atom" &&
                          event.config == fmt::format("{:#x}", wanted->config);
               });
    };
    if (counted("topdown-retiring") || !counted("TOPDOWN.SLOTS_P")) return {};
    const auto replaced = events::use_formulas_without_perf_metrics(request.library, table);
    if (!replaced) return pass_on(replaced);
    if (*replaced)
        warnings.push_back({"no_perf_metrics", "no counts of PERF_METRICS: the tree comes from formulas on ordinary counters", ""});
    return {};
}

/// The tree of each interval of the file.
Result<nlohmann::json> series_of(const std::string& label, const std::vector<Snapshot>& snapshots,
                                 const events::Table& table, const AssessRequest& assessment) {
    std::vector<Moment> moments;
    for (const Snapshot& snapshot : snapshots) {
        auto matched = counters::replay::match(label, snapshot, table);
        if (!matched) return pass_on(matched);
        moments.push_back({snapshot.at_seconds.value_or(0), std::move(matched->events)});
    }
    return assess_series(table, moments, assessment);
}

}  // namespace

Result<record::Record> replay(const ReplayRequest& request) {
    auto table = events::load(request.library, request.target);
    if (!table) return pass_on(table);
    const auto names = choose_metrics(*table, request.level, request.metrics);
    if (!names) return pass_on(names);
    const auto counts = read_files(request, *table);
    if (!counts) return pass_on(counts);

    record::Record record;
    record.experiment = "replay";
    record.command_line = request.command_line;
    record.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
    record.host = host_json(machine::detect());
    record.source = {"replay", table->cpu_id, fmt::format("counts of {}, {}", counts->label, table->title.empty() ? table->folder : table->title)};
    record.extra["level"] = request.level;
    record.extra["deeper"] = deeper_levels(*table, request.level);
    record.extra["table"] = {{"folder", table->folder}, {"title", table->title}, {"source", table->source}};
    if (std::ranges::any_of(table->metrics, &metrics::MetricDefinition::approximate)) record.extra["table"]["tree"] = "tmaprobe";
    record.warnings = counts->matched.warnings;
    if (const auto adapted = adapt_to_counts(request, counts->matched.events, *table, record.warnings); !adapted)
        return pass_on(adapted);

    for (const std::string& pmu : pmus_of(counts->matched.events)) {
        AssessRequest assessment;
        assessment.metrics = *names;
        assessment.constants = constants_of(request, *table);
        assessment.pmu = pmu;
        assessment.status = "replayed";
        record::Run run;
        run.kernel = request.files.front().filename().string();
        if (!pmu.empty()) run.parameters["pmu"] = pmu;
        run.time.reason = "the counts come from another run";
        run.events = events_on(counts->matched.events, pmu);
        auto metrics = assess(*table, run.events, assessment);
        if (!metrics) return pass_on(metrics);
        run.metrics = std::move(*metrics);
        if (!counts->series.empty()) {
            auto series = series_of(counts->label, counts->series, *table, assessment);
            if (!series) return pass_on(series);
            run.extra["series"] = std::move(*series);
        }
        record.runs.push_back(std::move(run));
        if (record.runs.size() > 1) continue;
        if (const auto said = say_assumptions(request, *table, assessment, record); !said) return pass_on(said);
    }
    return record;
}

}  // namespace tmaprobe::experiments
