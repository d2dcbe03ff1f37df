#include "experiments/replay.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "counters/replay/replay.h"
#include "events/model_tree.h"
#include "experiments/measured_host.h"
#include "experiments/replay_target.h"
#include "experiments/setup.h"
#include "judge/assess.h"
#include "judge/pmus.h"
#include "judge/series.h"
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
                     judge::AssessRequest assessment) {
    std::vector<record::Metric> values[2];
    for (const int on : {0, 1}) {
        assessment.constants.values[constant] = on;
        values[on] = TRY(judge::assess(table, events, assessment));
    }
    return !std::ranges::equal(values[0], values[1], [](const record::Metric& a, const record::Metric& b) {
        return a.value == b.value && a.status == b.status;
    });
}

/// What was taken for granted about the machine that counted, as far as it shows.
Result<> say_assumptions(const ReplayRequest& request, const events::Table& table,
                         const judge::AssessRequest& assessment, record::Record& record) {
    const auto& events = record.runs.back().events;
    if (!request.smt) {
        const auto differs = TRY(matters("#smt_on", table, events, assessment));
        if (differs)
            record.warnings.push_back(
                {"smt_assumed_off", "SMT is taken as off where the formulas ask", "--smt 1 if it was on"});
    }
    if (!request.system_wide) {
        const auto differs = TRY(matters("#core_wide", table, events, assessment));
        if (differs)
            record.warnings.push_back({"system_wide_assumed_off", "the counts are taken as those of single threads",
                                       "--system-wide 1 if they come from perf stat -a"});
    }
    const bool asks = std::ranges::any_of(record.runs.back().metrics, [](const record::Metric& metric) {
        return metric.formula.find("#slots") != std::string::npos;
    });
    if (!request.slots && asks && table.slots_per_cycle)
        record.warnings.push_back({"slots_from_table",
                                   fmt::format("{} slots per cycle, from the table", *table.slots_per_cycle),
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
            return fail(ErrorCode::bad_usage, fmt::format("{} is named twice", label),
                        "each file is one pass over the workload");
        auto snapshots = TRY(counters::replay::read_counts(request.files[pass]));
        auto matched = TRY(counters::replay::match_all(label, snapshots, table));
        for (record::Event& event : matched.events) {
            event.pass = static_cast<int>(pass);
            counts.matched.events.push_back(std::move(event));
        }
        auto& warnings = counts.matched.warnings;
        warnings.insert(warnings.end(), matched.warnings.begin(), matched.warnings.end());
        counts.label += (pass > 0 ? ", " : "") + label;
        if (request.files.size() == 1 && snapshots.size() > 1) counts.series = std::move(snapshots);
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
                   return event.note != record::Note::not_supported && event.pmu != "cpu_atom" && event.key &&
                          event.key->config == wanted->config;
               });
    };
    if (counted("topdown-retiring") || !counted("TOPDOWN.SLOTS_P")) return {};
    const auto replaced = TRY(events::use_formulas_without_perf_metrics(request.library, table));
    if (replaced)
        warnings.push_back(
            {"no_perf_metrics", "no counts of PERF_METRICS: the tree comes from formulas on ordinary counters", ""});
    return {};
}

/// The tree of each interval of the file.
Result<std::vector<record::IntervalValues>> series_of(const std::string& label, const std::vector<Snapshot>& snapshots,
                                                      const events::Table& table,
                                                      const judge::AssessRequest& assessment) {
    std::vector<judge::Moment> moments;
    for (const Snapshot& snapshot : snapshots) {
        auto matched = TRY(counters::replay::match(label, snapshot, table));
        moments.push_back({snapshot.at_seconds.value_or(0), std::move(matched.events)});
    }
    return judge::assess_series(table, moments, assessment);
}

}  // namespace

Result<record::Record> replay(const ReplayRequest& request) {
    auto table = TRY(events::load(request.library, request.target));
    const auto names = TRY(judge::choose_metrics(table, request.level, request.metrics));
    const auto counts = TRY(read_files(request, table));

    record::Record record;
    record.experiment = record::Experiment::replay;
    record.command_line = request.command_line;
    record.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                 fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
    record.host = measured_host(machine::detect());
    record.source = {record::SourceKind::replay, table.cpu_id,
                     fmt::format("counts of {}, {}", counts.label, table.title.empty() ? table.folder : table.title)};
    record.extra.level = request.level;
    record.extra.deeper = deeper_levels(table, request.level);
    auto& used = record.extra.table.emplace();
    used.folder = table.folder;
    used.title = table.title;
    used.source = table.source;
    if (events::has_estimated_tree(table)) used.tree = record::TreeOwner::tmaprobe;
    record.warnings = counts.matched.warnings;
    // It stands first: beside a wrong target nothing else counts.
    if (const auto wrong = TRY(wrong_target(request.library, table, counts.matched.events)))
        record.warnings.insert(record.warnings.begin(), *wrong);
    if (const auto adapted = adapt_to_counts(request, counts.matched.events, table, record.warnings); !adapted)
        return pass_on(adapted);

    for (const std::string& pmu : judge::pmus_of(counts.matched.events)) {
        judge::AssessRequest assessment;
        assessment.metrics = names;
        assessment.constants = constants_of(request, table);
        assessment.pmu = pmu;
        assessment.status = record::Status::replayed;
        record::Run run;
        run.kernel = request.files.front().filename().string();
        if (!pmu.empty()) run.parameters.pmu = pmu;
        run.time.reason = "the counts come from another run";
        run.events = judge::events_on(counts.matched.events, pmu);
        run.metrics = TRY(judge::assess(table, run.events, assessment));
        if (!counts.series.empty()) {
            run.extra.series = TRY(series_of(counts.label, counts.series, table, assessment));
        }
        record.runs.push_back(std::move(run));
        if (record.runs.size() > 1) continue;
        TRY(say_assumptions(request, table, assessment, record));
    }
    return record;
}

}  // namespace tmaprobe::experiments
