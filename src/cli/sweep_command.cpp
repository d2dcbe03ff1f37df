#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "experiments/sweep.h"
#include "machine/host.h"
#include "machine/topology.h"
#include "record/json/file.h"

namespace tmaprobe::cli {
namespace {

/// The words of the command line before they are understood.
struct SweepWords {
    std::string kernel = "chase", variant, sizes = "16K..256M", cpus, source = "auto", target, assume_pages, resume,
                events_directory;
    std::vector<std::string> pages, options, metrics{"tlb"};
    int points = 0, threads = 1, level = 1, numa_node = -1, repeat = 0;
    double seconds = 0.4;
    bool reserve_pages = false;
    OutputOptions output;
};

constexpr const char* rescue_file = "tmaprobe-sweep.partial.json";

Result<experiments::SweepRequest> understand(const SweepWords& words) {
    experiments::SweepRequest request;
    auto& run = request.run;
    run.workload.kernel = words.kernel;
    run.workload.variant = words.variant;
    run.workload.pages = words.pages;
    run.workload.threads = words.threads;
    run.counting.level = words.level;
    run.counting.metrics = words.metrics;
    run.counting.target = words.target;
    run.counting.assume_pages = words.assume_pages;
    run.repeat.repetitions = words.repeat;
    run.workload.reserve_pages = words.reserve_pages;
    run.command_line = command_line();
    request.seconds_per_point = words.seconds;
    if (words.numa_node >= 0) run.workload.numa_node = words.numa_node;
    request.sizes = TRY(experiments::sweep_sizes(words.sizes, words.points));
    TRY(parse_options(words.options, run.workload.options));
    if (!words.cpus.empty()) {
        run.workload.cpus = TRY(parse_cpu_list(words.cpus));
    }
    run.counting.source = TRY(parse_source(words.source));
    return request;
}

Result<record::Record> read_partial(const std::string& path) {
    auto records = TRY(record::read_records(path));
    if (records.size() != 1)
        return fail(ErrorCode::bad_input, fmt::format("{} holds {} records, not one", path, records.size()));
    return std::move(records.front());
}

/// Saves after each point, and keeps the first failure to itself: the sweep is worth more than the file.
experiments::SweepHooks hooks_for(const std::string& file) {
    experiments::SweepHooks hooks;
    hooks.on_progress = progress_line();
    hooks.interrupted = interrupted;
    if (!file.empty() && file != "-")
        hooks.save = [file](const record::Record& record) {
            static_cast<void>(write_file(file, record::serialize(record)));
        };
    return hooks;
}

int finish_interrupted(const record::Record& record, OutputOptions output) {
    if (output.json.empty() && record.runs.empty())
        return complain({ErrorCode::interrupted, "interrupted before the first point", {}});
    if (output.json.empty()) output.json = rescue_file;
    static_cast<void>(emit(record, output));
    const std::string hint = output.json == "-" ? "save the record and pass it to --resume"
                                                : fmt::format("go on with: tmaprobe sweep --resume {}", output.json);
    return complain({ErrorCode::interrupted,
                     fmt::format("interrupted: {} points are measured and saved", record.runs.size()), hint});
}

int sweep(const SweepWords& words, bool other_options_given) {
    const auto host = machine::detect();
    OutputOptions output = words.output;
    Result<experiments::SweepRequest> request;
    record::Record partial;
    if (!words.resume.empty()) {
        if (other_options_given)
            return complain({ErrorCode::bad_usage, "--resume takes kernel, sizes and all else from the record",
                             "give only --resume and where the result goes"});
        auto read = read_partial(words.resume);
        if (!read) return complain(read.error());
        partial = std::move(*read);
        request = experiments::resume_request(partial, host);
        if (output.json.empty()) output.json = words.resume;
    } else {
        request = understand(words);
    }
    if (!request) return complain(request.error());
    request->run.counting.library = event_library(words.events_directory);
    if (const auto writable = check_output(output); !writable) return complain(writable.error());

    note_interrupts();
    const auto record = experiments::sweep(*request, host, machine::detect_topology(), hooks_for(output.json),
                                           words.resume.empty() ? nullptr : &partial);
    if (!record) return complain(record.error());
    if (record->partial) return finish_interrupted(*record, output);
    return emit(*record, output);
}

}  // namespace

void add_sweep_command(CommandLine app, int& status) {
    CommandLine command =
        app.add_subcommand("sweep", "A kernel over a range of sizes: curve, predicted and found knees");
    const auto words = std::make_shared<SweepWords>();
    const std::vector<Option> workload{
        command.add_option("-k,--kernel", words->kernel, "Built-in kernel that works on memory")
            .type_name("NAME")
            .capture_default_str(),
        command.add_option("--variant", words->variant, "Implementation of the kernel; default: the best for this CPU")
            .type_name("NAME"),
        command.add_option("--sizes", words->sizes, "Range FIRST..LAST or list")
            .type_name("SIZES")
            .capture_default_str(),
        command
            .add_option("--points", words->points,
                        "Sizes in the range, evenly over the logarithm; default: every 2^k and 1.5 x 2^k")
            .type_name("N")
            .check(whole_number(2, experiments::most_points)),
        command.add_option("--pages", words->pages, "Page modes, each a curve: 4k, thp, 2m, 1g; default: the base page")
            .delimiter(',')
            .allow_extra_args(false)
            .type_name("MODE,..."),
        command.add_flag("--reserve-pages", words->reserve_pages,
                         "Reserve the huge pages that are missing, as root; they are given back at the end"),
        command.add_option("--threads", words->threads, "Threads of the kernel")
            .type_name("N")
            .check(whole_number(1, max_threads)),
        command.add_option("--cpu", words->cpus, "CPUs it is pinned to").type_name("LIST"),
        command.add_option("--numa-node", words->numa_node, "Bind the memory to this node")
            .check(whole_number(0, max_nodes))
            .type_name("N"),
        command.add_option("--option", words->options, "An option of the kernel's own")
            .delimiter(',')
            .allow_extra_args(false)
            .type_name("NAME=VALUE,..."),
        command.add_option("-l,--level", words->level, "Depth of the top-down tree, 1 to 6")
            .type_name("N")
            .check(level_number()),
        command.add_option("-m,--metric", words->metrics, "Metrics beyond the tree")
            .delimiter(',')
            .allow_extra_args(false)
            .type_name("NAME,...")
            .capture_default_str(),
        command.add_option("--source", words->source, "auto, perf, model or none")
            .type_name("SOURCE")
            .capture_default_str(),
        command.add_option("--target", words->target, "CPU to model").type_name("CPU"),
        command.add_option("--assume-pages", words->assume_pages, "Model with this page size instead of the real one")
            .type_name("MODE"),
        command
            .add_option("-r,--repeat", words->repeat, "Repetitions of each point; default: until the median is tight")
            .type_name("N")
            .check(whole_number(1, max_repetitions)),
        command.add_option("--seconds-per-point", words->seconds, "Timing of one point ends after this")
            .type_name("S")
            .check(between(0.01, 600.0))
            .capture_default_str(),
    };
    command
        .add_option("--resume", words->resume,
                    "Go on with an interrupted sweep's record; writes back to it unless --json says otherwise")
        .type_name("RECORD");
    add_library_option(command, words->events_directory);
    add_output_options(command, words->output);
    command.example("tmaprobe sweep --kernel chase --sizes 16K..256M --pages 4k,2m",
                    "latency over size, with normal and with huge pages");
    command.callback([words, workload, &status] {
        const bool given =
            std::any_of(workload.begin(), workload.end(), [](const Option& option) { return option.count() > 0; });
        status = sweep(*words, given);
    });
}

}  // namespace tmaprobe::cli
