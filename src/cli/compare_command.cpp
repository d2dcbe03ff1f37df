#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "judge/compare.h"
#include "record/json/file.h"
#include "report/comparison.h"
#include "report/formats.h"

namespace tmaprobe::cli {
namespace {

struct CompareWords {
    std::string before, after, fail_above;
    bool different = false;
    OutputOptions output;
};

/// The only record of a file, or its last one: a file of JSON Lines grows at its end.
Result<record::Record> read_last(const std::string& path) {
    auto records = TRY(record::read_records(path));
    if (records.empty()) return fail(ErrorCode::bad_input, path + " holds no record");
    return std::move(records.back());
}

/// The page shows both records, and what was found stands above them.
std::string page_of(record::Record before, record::Record after, const std::vector<record::Comparison>& list) {
    after.extra.comparison.assign(list.begin(), list.end());
    return report::write_html({std::move(after), std::move(before)});
}

int write_result(const std::vector<judge::RunComparison>& comparisons, const OutputOptions& output,
                 const record::Record& before, const record::Record& after) {
    std::vector<record::Comparison> list;
    for (const auto& comparison : comparisons) list.push_back(judge::summary_of(comparison));
    const auto document = [&] { return record::serialize(list); };
    const auto text = [&] {
        if (output.format == "json") return document();
        if (output.format == "jsonl") return record::serialize_lines(list);
        if (output.format == "csv") return report::comparisons_csv(list);
        if (output.format == "markdown") return report::comparisons_markdown(list);
        if (output.format == "html") return page_of(before, after, list);
        return report::render_comparisons(list, terminal_style(output));
    };
    int status = 0;
    if (!output.json.empty() && output.json != "-")
        if (const auto written = write_file(output.json, document()); !written) status = complain(written.error());
    if (output.json == "-") {
        status = print(document());
        if (output.output.empty()) return status;
    }
    return std::max(status, deliver(text(), output));
}

/// Exit status of a comparison whose times cannot be told apart from noise: neither fine nor slower.
constexpr int not_judged = 3;

int say_not_judged(const judge::RunComparison& comparison) {
    const bool few = comparison.timed && comparison.disturbed.empty();
    static_cast<void>(complain({ErrorCode::unavailable,
                                fmt::format("{}: whether it became slower cannot be judged: {}", comparison.subject,
                                            judge::why_not_judged(comparison)),
                                few                ? "measure both with --repeat 10"
                                : comparison.timed ? "measure again at a quiet time"
                                                   : "measure both with a time"}));
    return not_judged;
}

/// Times that are there and say nothing are said to.
int judge(const std::vector<judge::RunComparison>& comparisons) {
    int status = 0;
    for (const auto& comparison : comparisons)
        if (comparison.timed && !judge::can_judge(comparison)) status = say_not_judged(comparison);
    return status;
}

/// A slowdown that is certain weighs more than one that cannot be judged.
int judge_against(const std::vector<judge::RunComparison>& comparisons, double limit, const std::string& limit_text) {
    int unknown = 0, slower = 0;
    for (const auto& comparison : comparisons) {
        if (!judge::can_judge(comparison)) unknown = say_not_judged(comparison);
        if (judge::slower_than(comparison, limit))
            slower = complain({ErrorCode::unavailable,
                               fmt::format("{}: slower by more than {}, with confidence ({:+.1f}% at least)",
                                           comparison.subject, limit_text, 100 * (comparison.time.low - 1)),
                               {}});
    }
    return slower != 0 ? slower : unknown;
}

int compare(const CompareWords& words) {
    static const std::vector<std::string> formats{"json", "jsonl", "csv", "markdown", "html"};
    if (!words.output.format.empty() && std::ranges::find(formats, words.output.format) == formats.end())
        return complain({ErrorCode::bad_usage, "compare has no format called '" + words.output.format + "'",
                         suggest(words.output.format, formats)});
    if (const auto writable = check_output(words.output); !writable) return complain(writable.error());
    Result<double> limit = 0.0;
    if (!words.fail_above.empty()) limit = parse_percent("--fail-above", words.fail_above);
    if (!limit) return complain(limit.error());
    const auto before = read_last(words.before), after = read_last(words.after);
    for (const auto* record : {&before, &after})
        if (!*record) return complain(record->error());

    const auto comparisons = judge::compare_records(*before, *after, words.before, words.after, words.different);
    if (!comparisons) return complain(comparisons.error());
    const int written = write_result(*comparisons, words.output, *before, *after);
    const int judged =
        words.fail_above.empty() ? judge(*comparisons) : judge_against(*comparisons, *limit, words.fail_above);
    return written != 0 ? written : judged;
}

}  // namespace

void add_compare_command(CommandLine app, int& status) {
    CommandLine command =
        app.add_subcommand("compare", "Two records side by side: time, tree and translation, with confidence");
    const auto words = std::make_shared<CompareWords>();
    command.add_option("before", words->before, "Record to compare with").required().type_name("BEFORE");
    command.add_option("after", words->after, "Record to be judged").required().type_name("AFTER");
    command.add_flag("--different", words->different, "Compare even if kernel or parameters differ");
    command
        .add_option("--fail-above", words->fail_above,
                    "Exit with 1 if AFTER is slower by more than this, with confidence")
        .type_name("PERCENT");
    command.group("Output");
    command
        .add_option("--json", words->output.json, "Write the comparison to FILE ('-': to stdout, instead of the text)")
        .type_name("FILE");
    command.add_option("--format", words->output.format, "Write json, jsonl, csv, markdown or html instead of the text")
        .type_name("FORMAT");
    command.add_option("-o,--output", words->output.output, "Write to FILE instead of to stdout").type_name("FILE");
    add_drawing_options(command, words->output);
    command.example("tmaprobe compare before.json after.json --fail-above 5%", "for scripts: status 1 if it is slower");
    command.footer(
        "Exit status:\n"
        "  0 done\n"
        "  1 slower than --fail-above allows, with confidence, or it could not be done\n"
        "  2 bad usage, or records of different work\n"
        "  3 the times cannot be told apart from noise: too few repetitions on a side (4 of each are needed), or "
        "disturbed");
    command.callback([words, &status] { status = compare(*words); });
}

}  // namespace tmaprobe::cli
