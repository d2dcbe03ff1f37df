#include <algorithm>
#include <memory>

#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_words.h"
#include "experiments/what_if.h"
#include "model/model.h"

namespace tmaprobe::cli {
namespace {

constexpr int farthest_prefetch = 10'000;

struct WhatIfWords {
    RunWords run;
    std::string trace, predictor;
    std::string code, region;
    std::vector<std::string> changes;
    std::vector<std::string> prefetch;
    bool shares = false, targets = false;
};

/// Those that are asked for by name; the others have an option of their own.
std::vector<std::string> names_of_changes() {
    std::vector<std::string> names;
    for (const auto& [change, name] : Names<record::Change>::values)
        if (change != record::Change::prefetched) names.emplace_back(name);
    return names;
}

/// "no_mispredictions", or as it would be typed.
Result<record::Change> parse_change(std::string word) {
    std::ranges::replace(word, '-', '_');
    const auto change = value_named<record::Change>(word);
    if (change && *change != record::Change::prefetched) return *change;
    return fail(ErrorCode::bad_usage, "no change is called '" + word + "'", suggest(word, names_of_changes()));
}

bool is_of_code(record::Change change) {
    return change == record::Change::no_dependencies || change == record::Change::no_waits;
}

/// What is asked about: all that is named on the command line at once, and each by itself.
Result<std::vector<model::WhatIfQuestion>> questions_of(const WhatIfWords& words) {
    std::vector<record::Change> all;
    for (const std::string& word : words.changes) all.push_back(TRY(parse_change(word)));
    for (const std::string& pages : words.run.pages) all.push_back(TRY(parse_change("pages_" + pages)));
    if (words.predictor == "perfect") all.push_back(record::Change::no_mispredictions);
    const bool of_code = std::ranges::any_of(all, is_of_code);
    if (of_code && words.code.empty())
        return fail(ErrorCode::bad_usage, "no-dependencies and no-waits are of chosen code",
                    "--code FILE:LINE, --code FUNCTION or --code 0xADDRESS chooses it");
    if (!of_code && !words.code.empty())
        all.insert(all.end(), {record::Change::no_waits, record::Change::no_dependencies});
    std::vector<model::WhatIfQuestion> questions;
    const auto ask = [&](std::vector<record::Change> changes) {
        const std::string code = std::ranges::any_of(changes, is_of_code) ? words.code : "";
        questions.push_back({std::move(changes), 0, code, {}});
    };
    // What one option asks for by itself are two questions, and not one.
    if (all.size() > 1 && (of_code || words.code.empty())) ask(all);
    for (const record::Change change : all) ask({change});
    // Checked when they were read.
    for (const std::string& distance : words.prefetch)
        questions.push_back({{record::Change::prefetched}, std::stoull(distance), {}, {}});
    return questions;
}

Result<experiments::WhatIfRequest> understand_questions(WhatIfWords& words) {
    TRY(model::check_built());
    if (words.run.source == "perf" || words.run.source == "none")
        return fail(ErrorCode::bad_usage, "what a change would win, the model says, and --source leaves it out",
                    "leave --source out: where there are counters, the tree is counted all the same");
    experiments::WhatIfRequest request;
    request.questions.answers = TRY(questions_of(words));
    request.questions.shares = words.shares;
    request.trace = words.trace;
    words.run.pages.clear();
    if (words.run.target == "all") {
        request.questions.targets = words.targets = true;
        words.run.target.clear();
    }
    return request;
}

/// Whether what is asked can be asked of one region.
Result<> check_region(const experiments::RunRequest& request, const WhatIfWords& words) {
    if (words.region.empty()) return {};
    if (!words.trace.empty())
        return fail(ErrorCode::bad_usage, "--in is for what is run: a saved trace does not know names of regions",
                    "leave --trace out");
    if (!words.run.kernel.empty()) return fail(ErrorCode::bad_usage, "--in is for a command's regions");
    if (words.targets)
        return fail(ErrorCode::bad_usage, "--target all compares whole programs, not regions", "leave one of them out");
    return request.workload.command.empty() && request.counting.regions.functions.empty()
               ? Result<>(fail(ErrorCode::bad_usage, "--in is for a command's regions",
                               "of a process, functions can be regions: --region FILE:SYMBOL"))
               : Result<>{};
}

Result<record::Record> answer(WhatIfWords& words) {
    const auto what = TRY(understand_questions(words));
    const bool saved = !what.trace.empty();
    if (saved && (!words.run.kernel.empty() || !words.run.command.empty() || !words.run.pids.empty()))
        return fail(ErrorCode::bad_usage, "both a saved trace and something to run are named", "ask one at a time");
    experiments::RunRequest request;
    if (saved) {
        request.counting.target = words.run.target;
        request.counting.library = event_library(words.run.events_directory);
        request.counting.source = experiments::SourceChoice::model;
        request.counting.calibration = {!words.run.no_calibration, words.run.calibration};
        request.command_line = command_line();
        TRY(check_output(words.run.output));
    } else {
        request = TRY(understand(words.run));
    }
    request.counting.attribute_in = words.region;
    TRY(check_region(request, words));
    return experiments::what_if(request, what, machine::detect(), machine::detect_topology(), begin_run(request));
}

int what_if(WhatIfWords words) {
    const auto record = answer(words);
    if (!record) return complain(record.error());
    return emit_run(*record, words.run);
}

}  // namespace

void add_what_if_command(CommandLine app, const std::vector<std::string>& command, int& status) {
    CommandLine what_if_command = app.add_subcommand(
        "what-if", "What a change would win before it is made: perfect caches or branches, other pages, another CPU");
    const auto words = std::make_shared<WhatIfWords>();
    what_if_command.group("What is asked");
    std::string names;
    for (const auto& name : names_of_changes()) names += (names.empty() ? "" : ", ") + name;
    std::ranges::replace(names, '_', '-');
    what_if_command
        .add_option("--change", words->changes,
                    "What would be other than it is, all at once and each alone: " + names +
                        "; default: the usual ones, ranked by what they would win")
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("NAME,...");
    what_if_command.add_option("--predictor", words->predictor, "perfect: no branch is mispredicted")
        .check(one_of({"perfect"}))
        .type_name("WHAT");
    what_if_command
        .add_option("--prefetch", words->prefetch,
                    "Loads that miss often are prefetched N executions of the same load before, in software; may be "
                    "several")
        .check(whole_number(1, farthest_prefetch))
        .delimiter(',')
        .allow_extra_args(false)
        .type_name("N,...");
    what_if_command
        .add_option(
            "--code", words->code,
            "Code that the changes no-dependencies (it waits for no value) and no-waits (it takes its slots and "
            "nothing more) are of: FILE:LINE, FILE:FIRST-LAST, FUNCTION, or 0xADDRESS as its file counts; "
            "without either, both are asked")
        .type_name("WHERE");
    what_if_command
        .add_option("--in", words->region,
                    "How much faster this region alone would be: as the program marks it, or as --region names it")
        .type_name("REGION");
    what_if_command.add_flag("--shares", words->shares,
                             "How caches, TLBs, branches, front end and forwarding share what removing all would win");
    what_if_command.add_option("--trace", words->trace, "Ask a trace that --save-trace wrote, and run nothing")
        .type_name("FILE");
    add_run_options(what_if_command, words->run);
    what_if_command.example("tmaprobe what-if ./my-program args", "what the usual changes would win, ranked");
    what_if_command.example("tmaprobe what-if --pages 2m --predictor perfect ./my-program",
                            "huge pages and no mispredictions, together and each alone");
    what_if_command.example("tmaprobe what-if --target all ./my-program",
                            "how fast the same instructions are elsewhere");
    what_if_command.callback([words, &command, &status] {
        words->run.command = command;
        status = what_if(*words);
    });
}

}  // namespace tmaprobe::cli
