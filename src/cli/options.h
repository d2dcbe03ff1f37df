#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "events/table.h"
#include "experiments/progress.h"
#include "record/record.h"
#include "report/terminal.h"

namespace tmaprobe::cli {

/// Where and how the result of a measuring command goes.
struct OutputOptions {
    std::string json;    ///< file for the record, "-" = stdout instead of the text; empty: none
    std::string format;  ///< one of report::writer_formats(), written instead of the text
    std::string output;  ///< file for the text (or the format), "-" = stdout; empty: where the command's reports go
    bool verbose = false, ascii = false;
    bool append = false;          ///< to the file `output`, which keeps what it holds
    std::string colour = "auto";  ///< auto|always|never
    report::WhereView where{};    ///< of places in the code, where they are shown
};

/// More than any machine has or anybody waits for.
inline constexpr int max_threads = 65536, max_nodes = 65535, max_pid = 1 << 22, max_repetitions = 1'000'000;

/// Where a report goes that no --output sends elsewhere.
enum class ReportStream { standard_output, standard_error };

/// Registers --json, --format, --output, --verbose, --ascii and --color.
void add_output_options(CommandLine app, OutputOptions& options);

/// Registers how the text is drawn: --verbose, --ascii and --color.
void add_drawing_options(CommandLine app, OutputOptions& options);

/// Registers -v and -vv: more in the report, and the log (base/log.h) on stderr.
void add_verbose_flag(CommandLine app, bool& verbose);

/// Registers --events DIR; see event_library.
void add_library_option(CommandLine app, std::string& directory);
events::Library event_library(const std::string& directory);

/// Checks before anything is measured that the result can be written: the format exists, and the folders
/// of --json FILE and --output FILE are there and writable. Errors: bad_usage, system.
Result<> check_output(const OutputOptions& options);

/// Colour, Unicode and width as whatever the report goes to can show them: NO_COLOR and a dumb terminal are honoured.
report::TerminalStyle terminal_style(const OutputOptions& options, ReportStream usual = ReportStream::standard_output);

/// Writes the record as asked: to --json, and as text or in --format to --output or the `usual` stream. Returns the
/// exit status: 0, or 1 when something could not be written (said on stderr).
int emit(const record::Record& record, const OutputOptions& options,
         ReportStream usual = ReportStream::standard_output);

/// Writes a report's text to --output or the `usual` stream. Returns 0, or 1 with a message when it cannot be written.
int deliver(const std::string& text, const OutputOptions& options, ReportStream usual = ReportStream::standard_output);

/// The descriptor for rows that are written while it is measured: where the report goes, but for a file, and never
/// between the lines of a record that goes to standard output.
int rows_descriptor(const OutputOptions& options, ReportStream usual);

/// Writes text to stdout. Returns 0, or 1 with a message when stdout cannot take it (full disk, closed).
int print(const std::string& text);

/// Writes text to stderr; where stderr takes nothing there is nobody to tell.
void say(const std::string& text);

/// Prints an error as every command does ("tmaprobe: what", then "  hint: ..."), on stderr; returns its
/// exit status.
int complain(const Error& error);

/// Whether one line of stderr may be written over and over; a log has lines below each other instead.
bool may_redraw_line();
/// Draws progress on stderr: one changing line on a terminal, sparse plain lines elsewhere.
experiments::OnProgress progress_line();
/// Removes the changing line, before anything else is printed.
void clear_progress();

/// Reads "0,2-3" as CPU numbers. Errors: bad_usage.
Result<std::vector<int>> parse_cpu_list(const std::string& text);

/// The command line as it was typed, quoted for a shell, for the record.
std::string command_line();

}  // namespace tmaprobe::cli
