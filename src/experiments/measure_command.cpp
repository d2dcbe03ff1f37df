#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "counters/perf/session.h"
#include "experiments/measure.h"
#include "experiments/measure_parts.h"
#include "experiments/monitoring.h"
#include "experiments/workloads.h"
#include "judge/timing_warnings.h"

namespace tmaprobe::experiments {
namespace {

using Runs = std::vector<CommandRun>;

/// Without what a tracer added.
double own_ns(const CommandRun& run) { return run.elapsed_ns - (run.traced ? run.traced->added_ns : 0); }

template <class Passes>
Runs those(const Runs& runs, Passes passes) {
    Runs chosen;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(chosen), passes);
    return chosen;
}

/// The runs that the statistics are of: native ones where there are any, and of these the ones that went well.
Runs timed_runs(const Runs& runs) {
    Runs chosen = runs;
    const auto prefer = [&](auto wanted) {
        auto better = those(chosen, wanted);
        if (!better.empty()) chosen = std::move(better);
    };
    prefer([](const CommandRun& run) { return !run.traced; });
    prefer([](const CommandRun& run) { return !run.interrupted; });
    prefer([](const CommandRun& run) { return run.exit_status == 0; });
    return chosen;
}

record::TimedRepetition entry_of(const CommandRun& run, bool counted) {
    record::TimedRepetition entry;
    entry.ns_per_op = own_ns(run);
    entry.clean = counted;
    entry.exit_status = run.exit_status;
    if (!counted)
        entry.reason = run.interrupted ? "stopped by a signal" : fmt::format("exit status {}", run.exit_status);
    // A tracer's work is done on the command's processor time, too.
    if (run.traced) return entry;
    entry.user_ns = run.user_ns;
    entry.system_ns = run.system_ns;
    return entry;
}

/// Time of one run, its spread, and each run in the order in which they came.
void add_time(const Runs& runs, record::Run& run) {
    const Runs timed = timed_runs(runs);
    if (timed.empty()) return;
    std::vector<double> times, user, system;
    for (const auto& one : timed) {
        times.push_back(own_ns(one));
        user.push_back(one.user_ns);
        system.push_back(one.system_ns);
    }
    auto& time = run.time;
    time.known = true;
    time.reason.clear();
    time.operation = "command";
    time.ns_per_op = summarize(times);
    const bool native = !timed.front().traced;
    if (native) time.processor = record::ProcessorTime{median(user), median(system)};
    if (!native) {
        const auto& traced = *timed.front().traced;
        time.tracing = record::Tracing{traced.elapsed_ns, traced.added_ns, traced.added_low_ns, traced.added_high_ns};
        time.ns_per_op.low = traced.elapsed_ns - traced.added_high_ns;
        time.ns_per_op.high = traced.elapsed_ns - traced.added_low_ns;
    }
    const bool all_failed = timed.front().exit_status != 0;
    auto& list = run.extra.repetitions;
    list.clear();
    for (const auto& one : runs)
        if (one.traced.has_value() != native)
            list.push_back(entry_of(one, !one.interrupted && (all_failed || one.exit_status == 0)));
}

/// "1 (runs 2 and 7)", each status once.
std::string statuses_of(const Runs& runs) {
    std::map<int, std::vector<std::size_t>> by_status;
    for (std::size_t index = 0; index < runs.size(); ++index)
        if (runs[index].exit_status != 0) by_status[runs[index].exit_status].push_back(index + 1);
    std::vector<std::string> parts;
    for (const auto& [status, which] : by_status)
        parts.push_back(fmt::format("{} ({} {})", status, which.size() == 1 ? "run" : "runs", fmt::join(which, ", ")));
    return fmt::format("{}", fmt::join(parts, ", "));
}

/// Of several runs, which failed; one that runs alone says so itself, with its status.
void add_failures(const Runs& runs, std::vector<record::Warning>& warnings) {
    const auto failed = those(runs, [](const CommandRun& run) { return run.exit_status != 0 && !run.interrupted; });
    if (runs.size() < 2 || failed.empty()) return;
    if (failed.size() == runs.size())
        warnings.push_back({"command_failed",
                            fmt::format("every run of the command failed, with exit status {}", statuses_of(runs)),
                            "the time is that of failing runs"});
    else
        warnings.push_back({"command_failed",
                            fmt::format("{} of {} runs of the command failed, with exit status {}", failed.size(),
                                        runs.size(), statuses_of(runs)),
                            "their times are not in the statistics; the exit status is that of the first of them"});
}

int first_failure(const Runs& runs) {
    const auto failed =
        std::find_if(runs.begin(), runs.end(), [](const CommandRun& run) { return run.exit_status != 0; });
    return failed == runs.end() ? 0 : failed->exit_status;
}

/// What a pipe held, the first run has read; a file is rewound for each.
void add_input_warning(int runs, std::vector<record::Warning>& warnings) {
    struct stat input{};
    if (runs < 2 || ::fstat(STDIN_FILENO, &input) != 0 || !(S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode))) return;
    warnings.push_back({"shared_input",
                        "standard input is a pipe: if the command reads it, the first of its runs took what was there",
                        "give it a file (< FILE), which each run reads from its start, or < /dev/null"});
}

/// Runs that fill caches and files' pages before those that count.
Result<Runs> warm_up(counters::Workload& workload, int runs, const OnProgress& on_progress) {
    if (runs == 0) return Runs{};
    const auto clock = counters::make_clock_source();
    auto warmed = TRY(count(*clock, workload, {}, 1, runs, [&](const Progress& progress) {
        if (on_progress) on_progress({"warming up", progress.done, {}, ProgressOf::step});
    }));
    return std::move(warmed.runs);
}

/// The decided sources, or why one of them cannot be had.
using Sources = std::vector<Result<std::unique_ptr<counters::CounterSource>>>;

Sources make_sources(const CountingRequest& request, const Setup& setup) {
    Sources sources;
    for (const auto choice : setup.decision.sources)
        if (choice != SourceChoice::none) sources.push_back(make_source(choice, request, setup));
    return sources;
}

bool runs_natively(const Sources::value_type& source) { return source && (*source)->traits().runs_natively; }

/// Not a mistake of the user's, and not a program that cannot be started: that is checked before.
bool can_do_without(const Error& error) {
    return error.code == ErrorCode::unavailable || error.code == ErrorCode::no_permission;
}

/// Each source counts what software counts, too, in runs of its own: those of the first are shown.
void keep_first_software_events(std::vector<record::Event>& events) {
    std::set<std::string> seen;
    std::erase_if(
        events, [&](const record::Event& event) { return event.pmu == "software" && !seen.insert(event.name).second; });
}

bool interrupted(const Runs& runs) { return !runs.empty() && runs.back().interrupted; }

}  // namespace

Result<MeasuredRun> measure_command(const RunRequest& request, const Setup& setup, const OnProgress& on_progress) {
    const bool command = !request.workload.command.empty();
    if (command) TRY(check_command(request.workload.command));
    if (request.counting.scope.kind == counters::Scope::Kind::process)
        TRY(counters::perf::threads_of(request.counting.scope, request.counting.detail));
    CommandWorkload workload(request.workload.command);

    MeasuredRun measured;
    measured.run.kernel = "command";
    measured.run.parameters.command = request.workload.command;
    measured.source = {record::SourceKind::none, setup.table ? setup.table->cpu_id : "", setup.decision.why};
    if (!command) measured.run.time.reason = "nothing was started here whose time could be taken";
    using Kind = counters::Scope::Kind;
    const counters::Scope& scope = request.counting.scope;
    const counters::ScopeDetail& detail = request.counting.detail;
    auto& said = measured.run.parameters.options;
    if (scope.kind == Kind::process && detail.threads.empty()) measured.run.parameters.pid = scope.pid;
    if (!detail.further_pids.empty()) said["further_pids"] = fmt::format("{}", fmt::join(detail.further_pids, ","));
    if (!detail.threads.empty()) said["tids"] = fmt::format("{}", fmt::join(detail.threads, ","));
    if (!detail.cgroups.empty()) said["cgroups"] = fmt::format("{}", fmt::join(detail.cgroups, ","));
    if (detail.delay_ms) said["delay_ms"] = std::to_string(*detail.delay_ms);
    constexpr std::array<const char*, 6> places{"", "cpu", "socket", "node", "thread", "cgroup"};
    if (setup.cpu_sums != CpuSums::core) said["per"] = places[static_cast<std::size_t>(setup.cpu_sums)];
    if (!detail.inherit) said["inherit"] = "no";
    if (request.counting.scope.kind == Kind::cpus && !request.counting.scope.cpus.empty())
        measured.run.parameters.cpus = request.counting.scope.cpus;

    const auto sources = make_sources(request.counting, setup);
    const int runs = std::max(1, request.repeat.repetitions);
    // A run under the tracer from its start tells no time.
    const bool native = runs > 1 || request.counting.repeatable || std::ranges::all_of(sources, runs_natively);
    add_input_warning(runs + request.repeat.warm_up, measured.warnings);
    const auto warmed = TRY(warm_up(workload, request.repeat.warm_up, on_progress));
    measured.exit_status = first_failure(warmed);
    if (interrupted(warmed)) {
        measured.run.time.reason = "stopped by a signal while it was warming up";
        return measured;
    }
    if (*measured.exit_status != 0)
        measured.warnings.push_back(
            {"command_failed",
             fmt::format("a warm-up run of the command failed, with exit status {}", statuses_of(warmed)), ""});
    // The command is forked by this thread, and so watched. What a tracer does to it is not the command's.
    auto watch = command && native ? Watch::start(request.counting.resctrl_root, {::gettid()}) : std::nullopt;
    if (native && std::ranges::none_of(sources, runs_natively)) {
        TRY(add_software_events(workload, 1, request.counting, setup, runs, on_progress, measured));
    }
    for (const auto& source : sources) {
        if (interrupted(measured.command_runs)) continue;
        if (watch && !runs_natively(source)) {
            for (auto& event : watch->finish()) measured.run.events.push_back(std::move(event));
            watch.reset();
        }
        const Result<> added =
            source ? add_counts(**source, request.counting, request.repeat, setup, workload, 1, on_progress, measured)
                   : pass_on(source);
        if (added) continue;
        // Whoever named no source gets the time all the same, and a command that has run has been worth it.
        const bool optional = command && setup.decision.tree_is_optional;
        if (measured.command_runs.empty() && !(optional && can_do_without(added.error()))) return pass_on(added);
        measured.warnings.push_back({"no_tree", "no top-down tree: " + added.error().what, added.error().hint});
        if (!measured.command_runs.empty()) continue;
        TRY(add_software_events(workload, 1, request.counting, setup, runs, on_progress, measured));
    }
    if (watch)
        for (auto& event : watch->finish()) measured.run.events.push_back(std::move(event));
    if (setup.cpu_sums == CpuSums::cgroup && measured.run.extra.per_core.empty())
        measured.warnings.push_back({"cgroups_together",
                                     "the control groups are shown together: only what is counted all the time tells "
                                     "them apart, neither the model nor counting in turns does",
                                     "--source none tells what the kernel counts of each, or name one at a time"});
    if (!command) {
        measured.exit_status.reset();
        return measured;
    }
    keep_first_software_events(measured.run.events);
    add_time(measured.command_runs, measured.run);
    judge::add_timing_warnings(measured.run.time, "", measured.warnings);
    add_failures(measured.command_runs, measured.warnings);
    if (*measured.exit_status == 0) measured.exit_status = first_failure(measured.command_runs);
    return measured;
}

}  // namespace tmaprobe::experiments
