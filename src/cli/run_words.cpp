#include "cli/run_words.h"

#include <csignal>
#include <cstdlib>
#include <memory>

#include "base/file.h"
#include "base/shell.h"
#include "base/sizes.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "events/system_metrics.h"
#include "experiments/control_groups.h"
#include "report/interval_rows.h"

namespace tmaprobe::cli {
namespace {

std::vector<pid_t> numbers_of(const std::vector<std::string>& words) {
    std::vector<pid_t> numbers;
    for (const std::string& word : words) numbers.push_back(static_cast<pid_t>(std::atol(word.c_str())));
    return numbers;
}

/// What says whose counts are wanted and when, and does so of commands, processes and CPUs alone.
Result<> check_counting_words(const RunWords& words) {
    const char* option = !words.pids.empty()      ? "--pid"
                         : !words.tids.empty()    ? "--tid"
                         : words.delay_ms         ? "--delay"
                         : !words.control.empty() ? "--control"
                         : words.no_inherit       ? "--no-inherit"
                         : !words.cgroups.empty() ? "--cgroup"
                         : words.per_thread       ? "--per-thread"
                                                  : nullptr;
    if (!words.kernel.empty() && option)
        return fail(ErrorCode::bad_usage,
                    std::string(option) + " is for a command, a process or CPUs, not for a kernel of tmaprobe's own");
    if (!words.pids.empty() && !words.tids.empty())
        return fail(ErrorCode::bad_usage, "--pid names whole processes and --tid threads of them",
                    "take one of the two; ps -L -p PID shows a process's threads");
    if (words.delay_ms.value_or(0) < 0 && words.control.empty())
        return fail(ErrorCode::bad_usage, "with --delay -1 nothing is counted until --control says enable",
                    "add --control fifo:FILE, or take a delay in milliseconds");
    if (!words.cgroups.empty() && (!words.pids.empty() || !words.tids.empty()))
        return fail(ErrorCode::bad_usage, "--cgroup names processes, as --pid and --tid do", "take one of them");
    const bool cpus = words.system_wide || (words.kernel.empty() && !words.cpus.empty());
    if ((words.per_cpu || words.per_socket || words.per_node) && !cpus)
        return fail(ErrorCode::bad_usage, "--per-cpu, --per-socket and --per-node put counts of whole CPUs together",
                    "add -a, or --cpu LIST");
    if (words.per_cpu + words.per_socket + words.per_node > 1)
        return fail(ErrorCode::bad_usage, "--per-cpu, --per-socket and --per-node exclude each other");
    if (words.per_thread && (cpus || (words.pids.empty() && words.tids.empty() && words.cgroups.empty())))
        return fail(ErrorCode::bad_usage, "--per-thread shows the threads of processes that run already",
                    "name them with --pid, --tid or --cgroup");
    if (words.no_inherit && (words.system_wide || !words.cpus.empty()))
        return fail(ErrorCode::bad_usage, "--no-inherit leaves out what a process starts, and a CPU starts nothing");
    return {};
}

Result<> parse_scope(const RunWords& words, experiments::RunRequest& request) {
    using Kind = counters::Scope::Kind;
    TRY(check_counting_words(words));
    auto& scope = request.counting.scope;
    scope.kind = words.kernel.empty() ? Kind::command : Kind::this_thread;
    auto& detail = request.counting.detail;
    detail.inherit = !words.no_inherit;
    detail.delay_ms = words.delay_ms;
    detail.control = words.control;
    detail.cgroups = words.cgroups;
    std::vector<pid_t> processes = numbers_of(words.pids);
    if (!words.cgroups.empty()) {
        auto members = TRY(experiments::members_of_control_groups(words.cgroups));
        processes = std::move(members.processes);
        if (words.cgroups.size() > 1 && !words.per_thread) detail.groups = std::move(members.of_each);
    }
    if (!processes.empty()) {
        scope.kind = Kind::process;
        scope.pid = processes.front();
        detail.further_pids.assign(processes.begin() + 1, processes.end());
    }
    detail.apart = words.per_thread;
    request.counting.cpu_sums = words.per_cpu      ? experiments::CpuSums::cpu
                                : words.per_socket ? experiments::CpuSums::socket
                                : words.per_node   ? experiments::CpuSums::node
                                                   : experiments::CpuSums::core;
    if (!words.tids.empty()) {
        scope.kind = Kind::process;
        detail.threads = numbers_of(words.tids);
        scope.pid = detail.threads.front();
    }
    if (!words.cpus.empty()) {
        const auto cpus = TRY(parse_cpu_list(words.cpus));
        // With a kernel: where it runs. Without: which CPUs are counted, whatever runs there.
        if (!words.kernel.empty()) {
            request.workload.cpus = cpus;
        } else {
            scope.kind = Kind::cpus;
            scope.cpus = cpus;
        }
    }
    if (words.system_wide) scope.kind = Kind::cpus;
    return {};
}

void add_workload_options(CommandLine app, RunWords& words) {
    app.group("What is measured");
    app.add_option("-k,--kernel", words.kernel, "Built-in kernel (tmaprobe list kernels)").type_name("NAME");
    app.add_option("--variant", words.variant, "Implementation of the kernel; default: the best for this CPU")
        .type_name("NAME");
    app.add_option("--size", words.size, "Memory that the kernel works on: 16K, 8M, 1G").type_name("BYTES");
    app.add_option("--pages", words.pages, "Page modes, side by side: 4k, thp, 2m, 1g")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("MODE,...");
    app.add_flag("--reserve-pages", words.reserve_pages,
                 "Reserve the huge pages that are missing, as root; they are given back at the end");
    app.add_option("--threads", words.threads, "Threads of the kernel")
        .type_name("N")
        .check(whole_number(1, max_threads));
    app.add_option("--cpu", words.cpus,
                   "With a kernel: CPUs it is pinned to. Without: CPUs that are counted, system-wide")
        .type_name("LIST");
    app.add_option("--numa-node", words.numa_node, "Bind the kernel's memory to this node")
        .check(whole_number(0, max_nodes))
        .type_name("N");
    app.add_option("--option", words.options, "An option of the kernel's own")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("NAME=VALUE,...");
    app.add_option("-p,--pid", words.pids,
                   "Look at processes that run already, until they have ended or Ctrl-C; the model takes their "
                   "descendants too")
        .delimiter(',')
        .allow_extra_args(false)
        .check(whole_number(1, max_pid))
        .type_name("PID,...");
    app.add_option("-t,--tid", words.tids, "Count these threads alone, until they have ended or Ctrl-C")
        .delimiter(',')
        .allow_extra_args(false)
        .check(whole_number(1, max_pid))
        .type_name("TID,...");
    app.add_option(
           "--cgroup", words.cgroups,
           "Look at the processes that are in these control groups now, and what they start; of several, each by "
           "itself, too")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("GROUP,...");
    app.add_flag("--per-thread", words.per_thread,
                 "With --pid, --tid or --cgroup: each thread by itself, of those that run already");
    app.add_flag("--per-cpu", words.per_cpu, "With -a or --cpu: each CPU by itself");
    app.add_flag("--per-socket", words.per_socket, "With -a or --cpu: put together by socket");
    app.add_flag("--per-node", words.per_node, "With -a or --cpu: put together by NUMA node");
    app.add_flag("--no-inherit", words.no_inherit, "Count no process and no thread that is started meanwhile");
    app.add_option("-D,--delay", words.delay_ms,
                   "Begin to count so much later; -1: only when --control says enable. What runs is not delayed")
        .check(whole_number(-1, 1'000'000'000))
        .type_name("MS");
    app.add_option("--control", words.control,
                   "Count as another program says: lines enable, disable, reset and ping in a FIFO (fifo:COMMANDS or "
                   "fifo:COMMANDS,ANSWERS) or a descriptor (fd:N or fd:N,M); each is answered with ack")
        .type_name("WAY");
    app.add_option("--seconds", words.seconds, "With --pid, --cpu or -a: for so long")
        .check(between(0.01, 1e6))
        .type_name("S");
    app.add_option("--timeout", words.timeout_ms, "The same in milliseconds")
        .check(whole_number(10, 1'000'000'000))
        .type_name("MS");
    app.add_flag("-a,--system-wide", words.system_wide, "Count all CPUs, whatever runs there");
}

void add_counting_options(CommandLine app, RunWords& words) {
    app.group("What is counted");
    app.add_option("-l,--level", words.level, "Depth of the top-down tree, 1 to 6")
        .type_name("N")
        .check(level_number());
    app.add_option("-m,--metric", words.metrics, "Metrics beyond the tree; 'tlb': all about translation")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("NAME,...");
    app.add_option("-e,--event", words.events, "Further events, however spelt; may be repeated")
        .allow_extra_args(false)
        .type_name("EVENT");
    app.group("Counted or modelled");
    app.add_option("--source", words.source, "auto, perf, model, none, or perf,model side by side").type_name("SOURCE");
    app.add_option("--target", words.target, "CPU to model: as perf spells it, or a name of tmaprobe list targets")
        .type_name("CPU");
    app.add_option("--assume-pages", words.assume_pages,
                   "Model with this page size instead of the real one: 4k, 2m, 1g")
        .type_name("MODE");
    app.add_option("--calibration", words.calibration,
                   "Model with what tmaprobe calibrate wrote here; default: this CPU's, where there is one")
        .type_name("FILE");
    app.add_flag("--no-calibration", words.no_calibration, "Model with the tables' figures alone");
    app.add_option(
           "--effort", words.effort,
           "What the model's samples may cost a command, and how long it may simulate, as a multiple of the usual")
        .check(between(0.1, 100.0))
        .type_name("N");
    app.add_flag("--repeatable", words.repeatable,
                 "Model one more run of the command, from its start under the tracer: slower, and the same each time");
    app.add_option(
           "--save-trace", words.save_trace,
           "Keep what is modelled for tmaprobe what-if --trace: code and addresses of what was executed, no data")
        .type_name("FILE");
    app.group("Regions");
    add_region_options(app, words.regions);
    app.group("How often and how");
    app.add_flag("--multiplex", words.multiplex, "Count all groups in one run, scaled (default for commands)");
    app.add_flag("--passes", words.passes, "Run once per group, nothing multiplexed (default for kernels)");
    app.add_flag("--user", words.user, "Count in user mode (the default)");
    app.add_flag("--kernel-mode", words.kernel_mode, "Count in kernel mode; with --user: in both");
    app.add_option("-I,--interval", words.interval_ms,
                   "A row of values every N ms, of commands, processes and CPUs; --format csv or jsonl: as such lines")
        .check(between(1, 3'600'000))
        .type_name("MS");
    app.add_option("-r,--repeat", words.repeat,
                   "Repetitions; default: of a kernel until the median is tight, of a command one")
        .type_name("N")
        .check(whole_number(1, max_repetitions));
    app.add_option("--warm-up", words.warm_up, "Run the command so often before it is measured")
        .type_name("N")
        .check(whole_number(0, max_repetitions));
    app.add_option("--resctrl", words.resctrl, "Where resctrl is mounted: its monitors are read too").type_name("DIR");
    add_library_option(app, words.events_directory);
}

/// Those of the metrics that are of the machine, and counted by other PMUs than a core's.
Result<> take_system_metrics(const RunWords& words, experiments::CountingRequest& counting) {
    for (const auto& metric : TRY(events::read_system_metrics(event_library(words.events_directory))))
        if (std::erase(counting.metrics, metric.name) > 0) counting.system_metrics.push_back(metric.name);
    return {};
}

/// Rows of intervals go out as they come, in the format of the report.
experiments::OnInterval interval_writer(const RunWords& words) {
    const auto usual = words.command.empty() ? ReportStream::standard_output : ReportStream::standard_error;
    const auto form = words.output.format.starts_with("json") ? report::RowForm::json_lines
                      : words.output.format == "csv"          ? report::RowForm::csv
                                                              : report::RowForm::table;
    const int descriptor = rows_descriptor(words.output, usual);
    const auto rows = std::make_shared<report::IntervalRows>(form, terminal_style(words.output, usual));
    return [rows, descriptor, wanted = words.events](double at_seconds, const std::vector<record::Metric>& metrics,
                                                     const std::vector<record::Event>& events) {
        clear_progress();
        // Who reads no more of them still has the record at the end.
        static_cast<void>(
            write_descriptor(descriptor, rows->row(at_seconds, metrics, events, wanted), "the intervals"));
    };
}

}  // namespace

void add_run_options(CommandLine app, RunWords& words) {
    add_workload_options(app, words);
    add_counting_options(app, words);
    add_output_options(app, words.output);
}

Result<experiments::RunRequest> understand(const RunWords& words) {
    experiments::RunRequest request;
    request.workload.kernel = words.kernel;
    request.workload.command = words.command;
    if (words.kernel.empty() && words.command.empty() && words.pids.empty() && words.tids.empty() &&
        words.cgroups.empty() && words.cpus.empty() && !words.system_wide)
        return fail(ErrorCode::bad_usage, "nothing to measure",
                    "name a kernel (--kernel sha256) or a command (-- ./my-program)");
    if (!words.kernel.empty() && !words.command.empty())
        return fail(ErrorCode::bad_usage, "both a kernel and a command are named", "measure one at a time");
    request.workload.variant = words.variant;
    request.counting.target = words.target;
    request.counting.assume_pages = words.assume_pages;
    request.workload.pages = words.pages;
    request.counting.level = words.level;
    request.counting.metrics = words.metrics;
    if (!words.metrics.empty()) TRY(take_system_metrics(words, request.counting));
    // Who compares page modes wants to see what translation did.
    if (words.pages.size() > 1 && words.metrics.empty()) request.counting.metrics = {"tlb"};
    request.counting.events = words.events;
    request.workload.threads = words.threads;
    request.counting.count_kernel = words.kernel_mode;
    request.counting.count_user = words.user || !words.kernel_mode;
    request.repeat.repetitions = words.repeat;
    request.workload.reserve_pages = words.reserve_pages;
    request.repeat.warm_up = words.warm_up;
    request.counting.seconds = words.timeout_ms > 0 ? 1e-3 * words.timeout_ms : words.seconds;
    request.counting.save_trace = words.save_trace;
    request.counting.trace_workload = words.kernel.empty() ? shell_quoted(words.command) : words.kernel;
    request.counting.effort = words.effort;
    // A kernel is modelled alike each time anyway.
    request.counting.repeatable = words.repeatable && !words.command.empty();
    request.counting.regions = TRY(region_request(words.regions));
    request.counting.region_program = words.command;
    if (words.regions.any() && !words.kernel.empty())
        return fail(ErrorCode::bad_usage, "regions are those of a command", "name one after --");
    if (words.regions.listen && words.command.empty())
        return fail(ErrorCode::bad_usage, "--regions is for a command: a program asks once, at its first mark",
                    "start it with tmaprobe, or take a function as a region: --region FILE:SYMBOL");
    // Kernels answer at once, a repeatable run hangs on nothing that is measured, and what runs already is not
    // disturbed.
    const bool may_measure = !words.command.empty() && !words.repeatable;
    request.counting.calibration = {!words.no_calibration, words.calibration, may_measure, interrupted};
    if (words.no_calibration && !words.calibration.empty())
        return fail(ErrorCode::bad_usage, "--calibration and --no-calibration exclude each other");
    if (words.repeatable && words.command.empty() && words.kernel.empty())
        return fail(ErrorCode::bad_usage,
                    "--repeatable runs a command once more, and what runs already is not run again",
                    "name a command after --");
    const bool watches = words.kernel.empty() && words.command.empty();
    if (request.counting.seconds > 0 && !watches)
        return fail(ErrorCode::bad_usage, "--seconds says how long what runs already is looked at",
                    "name a process with --pid, or all CPUs with -a");
    if (words.output.append && (words.output.output.empty() || words.output.output == "-"))
        return fail(ErrorCode::bad_usage, "--append adds to a file, and none is named", "name it with --output FILE");
    if (words.command.empty() && words.warm_up)
        return fail(ErrorCode::bad_usage, "--warm-up runs a command before it is measured, and there is none",
                    words.kernel.empty() ? "name it after --" : "kernels warm up by themselves");
    if (words.command.empty() && words.kernel.empty() && words.repeat)
        return fail(ErrorCode::bad_usage,
                    "--repeat runs a command again, and what runs already cannot be started again",
                    "leave it out, or name a command after --");
    request.counting.interval_ms = words.interval_ms;
    if (words.interval_ms > 0) request.counting.on_interval = interval_writer(words);
    request.counting.library = event_library(words.events_directory);
    request.counting.resctrl_root = words.resctrl;
    request.command_line = command_line();
    if (words.numa_node >= 0) request.workload.numa_node = words.numa_node;
    if (words.multiplex && words.passes)
        return fail(ErrorCode::bad_usage, "--multiplex and --passes exclude each other");
    // A kernel can be run again for each pass; a command may not be: it runs once unless told otherwise.
    request.counting.policy = words.multiplex || (words.kernel.empty() && !words.passes) ? counters::Policy::multiplex
                                                                                         : counters::Policy::passes;
    if (!words.size.empty()) {
        const auto size = TRY(parse_size(words.size));
        request.workload.size_bytes = size;
    }
    for (const auto& step : {parse_options(words.options, request.workload.options), parse_scope(words, request),
                             check_output(words.output)})
        if (!step) return pass_on(step);
    request.counting.source = TRY(parse_source(words.source));
    return request;
}

namespace {

/// A signal that a shell made us ignore, as it does for what runs in the background, is dropped until counting begins,
/// unless it is blocked: then it waits. Nothing else ends what only watches.
void keep_early_interrupts(const experiments::RunRequest& request) {
    struct sigaction now{};
    const bool watches = request.workload.command.empty() && request.workload.kernel.empty();
    if (!watches || ::sigaction(SIGINT, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) return;
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
}

}  // namespace

experiments::OnProgress begin_run(const experiments::RunRequest& request) {
    keep_early_interrupts(request);
    // What a command writes to a file or a pipe is its own: no line of ours comes between.
    return request.workload.command.empty() || may_redraw_line() ? progress_line() : experiments::OnProgress{};
}

Result<record::Record> run(const experiments::RunRequest& request) {
    return experiments::run(request, machine::detect(), machine::detect_topology(), begin_run(request));
}

int emit_run(const record::Record& record, const RunWords& words) {
    // A command's output is its own: as those of perf stat and time, our report goes beside it.
    const int written = emit(record, words.output,
                             words.command.empty() ? ReportStream::standard_output : ReportStream::standard_error);
    // As perf stat does: the measured command's own status is the result, unless only ours failed.
    const int own = record.extra.exit_status.value_or(0);
    return own != 0 ? own : written;
}

}  // namespace tmaprobe::cli
