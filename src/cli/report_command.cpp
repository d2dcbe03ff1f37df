#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/where_view.h"
#include "record/json/file.h"
#include "report/terminal.h"
#include "report/writers.h"

namespace tmaprobe::cli {
namespace {

struct ReportOptions {
    std::vector<std::string> files;
    std::string target;
    OutputOptions output;
    WhereWords where;
};

/// Files are read side by side, for parsing is most of the work of a report on hundreds of records. The
/// records, and the error if there is one, come in the order of the files nevertheless.
Result<std::vector<record::Record>> read_all(const std::vector<std::string>& files) {
    std::vector<Result<std::vector<record::Record>>> read(files.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < files.size(); i = next++) read[i] = record::read_records(files[i]);
    };
    {
        std::vector<std::jthread> workers;
        const std::size_t most = std::min<std::size_t>({files.size(), std::thread::hardware_concurrency(), 8});
        for (std::size_t i = 1; i < most; ++i) workers.emplace_back(work);
        work();
    }
    std::vector<record::Record> records;
    for (auto& some : read)
        for (auto& record : TRY(std::move(some))) records.push_back(std::move(record));
    return records;
}

/// Reads everything before anything is written, so that one bad record leaves the old file whole.
int report(const ReportOptions& options) {
    const auto formats = report::writer_formats();
    const std::string& format = options.output.format;
    if (!format.empty() && format != "text" && std::find(formats.begin(), formats.end(), format) == formats.end())
        return complain({ErrorCode::bad_usage, "no format is called '" + format + "'", suggest(format, formats)});
    const auto records = read_all(options.files);
    if (!records) return complain(records.error());

    std::string text;
    OutputOptions shown = options.output;
    shown.where = where_view(options.where, *records, format);
    if (format.empty() || format == "text") {
        for (const auto& record : *records) {
            if (!text.empty()) text += '\n';
            text += report::render_terminal(record, terminal_style(shown));
        }
    } else {
        auto written = report::render(*records, format, shown.where);
        if (!written) return complain(written.error());
        text = std::move(*written);
    }
    if (options.target.empty() || options.target == "-") return print(text);
    const auto done = write_file(options.target, text);
    return done ? 0 : complain(done.error());
}

}  // namespace

void add_report_command(CommandLine app, int& status) {
    CommandLine command =
        app.add_subcommand("report", "Show records again, or write them as a page, a table or metrics");
    const auto options = std::make_shared<ReportOptions>();
    command.add_option("record", options->files, "Record files (JSON or JSON Lines) as --json writes them")
        .required()
        .type_name("RECORD...");
    command
        .add_option("-f,--format", options->output.format,
                    "text (as on the terminal), json, jsonl, csv, markdown, openmetrics or html; of where also folded, "
                    "speedscope, callgrind or pprof")
        .type_name("FORMAT");
    command.add_option("-o,--output", options->target, "Write FILE in one step instead of to stdout").type_name("FILE");
    add_where_options(command, options->where);
    add_drawing_options(command, options->output);
    command.example("tmaprobe report *.json --format html -o report.html", "all records on one page");
    command.callback([options, &status] { status = report(*options); });
}

}  // namespace tmaprobe::cli
