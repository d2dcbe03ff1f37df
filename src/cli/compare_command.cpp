#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_dump.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "experiments/compare.h"
#include "report/comparison.h"

namespace tmaprobe::cli {
namespace {

struct Words {
    std::string before, after, fail_above;
    bool different = false;
    OutputOptions output;
};

/// "5%" or "5" as a share. Errors: bad_usage.
Result<double> parse_percent(const std::string& text) {
    double percent = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, percent);
    const bool whole = stop == end || (stop + 1 == end && *stop == '%');
    if (error != std::errc{} || !whole || !(percent >= 0) || percent > 1e6)
        return fail(ErrorCode::bad_usage, "--fail-above '" + text + "' is not a percentage", "write for example --fail-above 5%");
    return percent / 100;
}

/// The only record of a file, or its last one: a file of JSON Lines grows at its end.
Result<record::Record> read_last(const std::string& path) {
    auto records = record::read_records(path);
    if (!records) return pass_on(records);
    if (records->empty()) return fail(ErrorCode::bad_input, path + " holds no record");
    return std::move(records->back());
}

int write_result(const std::vector<experiments::Comparison>& comparisons, const OutputOptions& output) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& comparison : comparisons) list.push_back(experiments::comparison_json(comparison));
    const auto document = [&] {
        return dump_indented({{"schema", "tmaprobe.comparison/1"}, {"comparison", list}});
    };
    int status = 0;
    if (!output.json.empty() && output.json != "-")
        if (const auto written = write_file(output.json, document()); !written) status = complain(written.error());
    const bool as_json = output.json == "-" || output.format == "json";
    return std::max(status, print(as_json ? document() : report::render_comparisons(list, terminal_style(output))));
}

int compare(const Words& words) {
    if (!words.output.format.empty() && words.output.format != "json")
        return complain({ErrorCode::bad_usage, "compare writes text or --format json", {}});
    if (const auto writable = check_output(words.output); !writable) return complain(writable.error());
    Result<double> limit = 0.0;
    if (!words.fail_above.empty()) limit = parse_percent(words.fail_above);
    if (!limit) return complain(limit.error());
    const auto before = read_last(words.before), after = read_last(words.after);
    for (const auto* record : {&before, &after})
        if (!*record) return complain(record->error());

    const auto comparisons = experiments::compare_records(*before, *after, words.before, words.after, words.different);
    if (!comparisons) return complain(comparisons.error());
    int status = write_result(*comparisons, words.output);
    if (words.fail_above.empty()) return status;
    for (const auto& comparison : *comparisons)
        if (experiments::slower_than(comparison, *limit))
            status = std::max(status, complain({ErrorCode::unavailable, fmt::format("{}: slower by more than {}, with confidence ({:+.1f}% at least)",
                                                                                  comparison.subject, words.fail_above, 100 * (comparison.time.low - 1)), {}}));
    return status;
}

}  // namespace

void add_compare_command(CLI::App& app, int& status) {
    auto* command = app.add_subcommand("compare", "Two records side by side: time, tree and translation, with confidence");
    const auto words = std::make_shared<Words>();
    command->add_option("before", words->before, "Record to compare with")->required()->type_name("BEFORE");
    command->add_option("after", words->after, "Record to be judged")->required()->type_name("AFTER");
    command->add_flag("--different", words->different, "Compare even if kernel or parameters differ");
    command->add_option("--fail-above", words->fail_above, "Exit with 1 if AFTER is slower by more than this, with confidence")->type_name("PERCENT");
    add_output_options(*command, words->output);
    command->callback([words, &status] { status = compare(*words); });
}

}  // namespace tmaprobe::cli
