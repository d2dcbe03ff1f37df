#include "cli/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "base/file.h"
#include "base/log.h"
#include "base/shell.h"
#include "base/suggest.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "record/json/file.h"
#include "report/terminal.h"
#include "report/text.h"
#include "report/writers.h"

namespace tmaprobe::cli {
namespace {

/// The descriptor that the report is written to; -1: a file of its own.
int report_descriptor(const OutputOptions& options, ReportStream usual) {
    if (options.output == "-") return STDOUT_FILENO;
    if (!options.output.empty()) return -1;
    return usual == ReportStream::standard_error ? STDERR_FILENO : STDOUT_FILENO;
}

}  // namespace

bool may_redraw_line() { return ::isatty(STDERR_FILENO) && !is_dumb_terminal(); }

report::TerminalStyle terminal_style(const OutputOptions& options, ReportStream usual) {
    report::TerminalStyle style;
    const int descriptor = report_descriptor(options, usual);
    const bool terminal = descriptor >= 0 && ::isatty(descriptor);
    const char* no_colour = std::getenv("NO_COLOR");
    const bool may_colour = terminal && !(no_colour && *no_colour) && !is_dumb_terminal();
    style.colour = options.colour == "always" || (options.colour == "auto" && may_colour);
    style.unicode = !options.ascii && utf8_locale();
    style.width = columns_of(descriptor);
    style.verbose = options.verbose;
    style.where = options.where;
    return style;
}

void add_output_options(CommandLine app, OutputOptions& options) {
    app.group("Output");
    app.add_option("--json", options.json, "Write the record to FILE ('-': to stdout, instead of the text)")
        .type_name("FILE");
    app.add_option("--format", options.format,
                   "Write json, jsonl, csv, markdown, openmetrics or html instead of the text; of where also folded, "
                   "speedscope, callgrind or pprof")
        .type_name("FORMAT");
    app.add_option("-o,--output", options.output,
                   "Write the report to FILE ('-': to stdout); default: stdout, of a command stderr")
        .type_name("FILE");
    app.add_flag("--append", options.append, "Add the report to the end of the file that --output names");
    add_drawing_options(app, options);
}

void add_drawing_options(CommandLine app, OutputOptions& options) {
    app.group("Output");
    add_verbose_flag(app, options.verbose);
    app.add_flag("--ascii", options.ascii, "Draw with ASCII characters only, whatever the locale");
    app.add_option("--color", options.colour, "auto, always or never")
        .check(one_of({"auto", "always", "never"}))
        .type_name("WHEN");
}

void add_verbose_flag(CommandLine app, bool& verbose) {
    const auto raise = [&verbose](int times) {
        verbose = times > 0;
        if (times > 0) log::set_level(times > 1 ? log::Level::detail : log::Level::info);
    };
    app.add_flag("-v,--verbose", raise,
                 "Add events, encodings and formulas, and say on stderr what is done; -vv: in detail");
}

void add_library_option(CommandLine app, std::string& directory) {
    app.group("General");
    app.add_option("--events", directory,
                   "Read event tables from DIR (this project's layout or Linux's pmu-events/arch)")
        .type_name("DIR");
}

events::Library event_library(const std::string& directory) {
    events::Library library;
    if (!directory.empty()) library.directory = directory;
    return library;
}

namespace {

/// Whether a file can be put there. `option` is how the user named it.
Result<> check_file(const std::string& option, const std::string& file) {
    if (file.empty() || file == "-") return {};
    const std::filesystem::path path(file);
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return fail(ErrorCode::bad_usage, option + " " + file + " is a directory", "name a file in it");
    // A regular file is written beside and renamed: its folder must take it. Devices and pipes are written in place.
    const bool replaced = !std::filesystem::exists(path, ignored) || std::filesystem::is_regular_file(path, ignored);
    const auto real = std::filesystem::weakly_canonical(path, ignored);
    const auto folder = real.has_parent_path() ? real.parent_path() : std::filesystem::path(".");
    if (::access(replaced ? folder.c_str() : path.c_str(), replaced ? W_OK | X_OK : W_OK) != 0)
        return fail_errno(errno, "cannot write " + option + " " + file, "nothing was measured: name another file");
    return {};
}

}  // namespace

Result<> check_output(const OutputOptions& options) {
    const auto formats = report::writer_formats();
    if (!options.format.empty() && std::find(formats.begin(), formats.end(), options.format) == formats.end())
        return fail(ErrorCode::bad_usage, "no format is called '" + options.format + "'",
                    suggest(options.format, formats));
    if (options.json == "-" && options.output == "-")
        return fail(ErrorCode::bad_usage, "--json - and --output - both want standard output",
                    "name a file for one of them");
    if (const auto possible = check_file("--json", options.json); !possible) return possible;
    return check_file("--output", options.output);
}

int print(const std::string& text) {
    const auto written = write_descriptor(STDOUT_FILENO, text, "standard output");
    return written ? 0 : complain(written.error());
}

void say(const std::string& text) { static_cast<void>(write_descriptor(STDERR_FILENO, text, "standard error")); }

namespace {

/// What a file holds that is added to; nothing where it is none, or no regular file.
std::string content_of(const std::string& file) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(file, ignored) ? read_file(file).value_or("") : "";
}

}  // namespace

int deliver(const std::string& text, const OutputOptions& options, ReportStream usual) {
    if (report_descriptor(options, usual) == STDOUT_FILENO) return print(text);
    const auto written = options.output.empty() ? write_descriptor(STDERR_FILENO, text, "standard error")
                         : options.append       ? write_file(options.output, content_of(options.output) + text)
                                                : write_file(options.output, text);
    return written ? 0 : complain(written.error());
}

int rows_descriptor(const OutputOptions& options, ReportStream usual) {
    const bool to_output = usual == ReportStream::standard_output || options.output == "-";
    return to_output && options.json != "-" ? STDOUT_FILENO : STDERR_FILENO;
}

int emit(const record::Record& record, const OutputOptions& options, ReportStream usual) {
    clear_progress();
    int status = 0;
    if (options.json == "-") {
        status = print(record::serialize(record));
        if (options.output.empty())
            return status;  // the record stands for the report, unless that has a file of its own
    } else if (!options.json.empty()) {
        const auto written = write_file(options.json, record::serialize(record));
        if (!written) status = complain(written.error());
    }
    if (options.format.empty())
        return std::max(status,
                        deliver(report::render_terminal(record, terminal_style(options, usual)), options, usual));
    const auto text = report::render({record}, options.format, options.where);
    return std::max(status, text ? deliver(*text, options, usual) : complain(text.error()));
}

int complain(const Error& error) {
    clear_progress();
    // Messages quote files, which may hold anything: no escape sequence of theirs reaches a terminal.
    constexpr std::size_t longest = 2000;
    const auto quoted = [](const std::string& text) { return report::shorten(report::clean(text), longest, false); };
    say(fmt::format("tmaprobe: {}\n", quoted(error.what)));
    if (!error.hint.empty()) say(fmt::format("  hint: {}\n", quoted(error.hint)));
    return exit_status(error);
}

experiments::OnProgress progress_line() {
    using Clock = std::chrono::steady_clock;
    struct State {
        Clock::time_point started = Clock::now(), shown{};
        ProgressText text;
    };
    const bool terminal = may_redraw_line();
    return [state = std::make_shared<State>(), terminal](const experiments::Progress& progress) {
        const auto now = Clock::now();
        const auto pause = terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
        const double spent = std::chrono::duration<double>(now - state->started).count();
        // What takes a moment only needs no progress at all; a log gets a line now and then.
        if (spent < 1.0 || now - std::max(state->shown, terminal ? Clock::time_point{} : state->started) < pause)
            return;
        state->shown = now;
        const std::string text = state->text.update(progress, spent);
        if (!terminal) return say("tmaprobe: " + text + "\n");
        constexpr int width = 20;
        const int filled = static_cast<int>(std::clamp(progress.done, 0.0, 1.0) * width);
        // A longer line would wrap, and be drawn once more each time.
        const auto room = static_cast<std::size_t>(columns_of(STDERR_FILENO) - width - 4);
        say(fmt::format("\r\033[K[{:=<{}}{:{}}] {}", "", filled, "", width - filled,
                        report::shorten(text, room, true)));
    };
}

void clear_progress() {
    if (may_redraw_line()) say("\r\033[K");
}

Result<std::vector<int>> parse_cpu_list(const std::string& text) {
    std::vector<int> cpus;
    const auto wrong = [&] {
        return fail(ErrorCode::bad_usage, "'" + text + "' is not a list of CPUs", "write for example 0,2-3");
    };
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto number = [&](int& value) {
        const auto [stop, error] = std::from_chars(at, end, value);
        at = stop;
        return error == std::errc{} && value >= 0;
    };
    constexpr int most_cpus = 65536;  // more than any kernel numbers; guards against 0-4000000000
    while (at != end) {
        int first = 0;
        if (!number(first)) return wrong();
        int last = first;
        if (at != end && *at == '-' && (++at, !number(last))) return wrong();
        if (last < first || last >= most_cpus) return wrong();
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        if (at != end && *at++ != ',') return wrong();
        if (at == end && text.back() == ',') return wrong();
    }
    if (cpus.empty()) return wrong();
    return cpus;
}

std::string command_line() {
    std::vector<std::string> words{"tmaprobe"};  // not where the binary lies on this machine
    const std::string raw = read_file("/proc/self/cmdline").value_or("");
    std::size_t at = raw.find('\0');
    while (at != raw.npos && at + 1 < raw.size()) {
        const std::size_t end = raw.find('\0', at + 1);
        words.push_back(raw.substr(at + 1, end - at - 1));
        at = end;
    }
    return shell_quoted(words);
}

}  // namespace tmaprobe::cli
