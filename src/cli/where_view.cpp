#include "cli/where_view.h"

#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "cli/options.h"

namespace tmaprobe::cli {
namespace {

namespace fs = std::filesystem;

/// "/build/a/b.c" is FOLDER/build/a/b.c, FOLDER/a/b.c or FOLDER/b.c.
std::optional<std::string> find_source(const std::string& file, const std::vector<std::string>& folders) {
    std::error_code ignored;
    for (const std::string& folder : folders) {
        fs::path rest = fs::path(file).relative_path();
        while (!rest.empty()) {
            if (fs::is_regular_file(folder / rest, ignored)) return (folder / rest).string();
            fs::path shorter;
            for (auto part = std::next(rest.begin()); part != rest.end(); ++part) shorter /= *part;
            rest = shorter;
        }
    }
    if (fs::is_regular_file(file, ignored)) return file;
    return std::nullopt;
}

std::vector<std::string> lines_of(const std::string& path) {
    std::vector<std::string> lines;
    const auto text = read_file(path);
    if (!text) return lines;
    std::istringstream stream(*text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Whether a file changed after another did; of what is not there any more nobody knows.
bool is_newer(const std::string& file, const std::string& other) {
    std::error_code unknown;
    const auto changed = fs::last_write_time(file, unknown);
    if (unknown) return false;
    const auto other_changed = fs::last_write_time(other, unknown);
    return !unknown && changed > other_changed;
}

}  // namespace

void add_where_options(CommandLine command, WhereWords& words) {
    command
        .add_option(
            "--by", words.by,
            "What the table has: function, loop, line, instruction, module, path (functions in their callers), or data "
            "that is waited for")
        .check(one_of({"function", "loop", "line", "instruction", "module", "path", "data"}))
        .type_name("WHAT");
    constexpr int most_rows = 20000;
    command.add_option("--top", words.top, "Rows of the table").check(whole_number(1, most_rows)).type_name("N");
    command.add_option("--annotate", words.annotate, "Show this function's instructions beside its source")
        .type_name("FUNCTION");
    command.add_option("--source-dir", words.source_folders, "Look for source files below DIR; may be repeated")
        .allow_extra_args(false)
        .type_name("DIR");
}

report::WhereView where_view(const WhereWords& words, const std::vector<record::Record>& records,
                             const std::string& format) {
    report::WhereView view;
    view.by = value_named<record::PlaceKind>(words.by).value_or(record::PlaceKind::function);
    view.top = static_cast<std::size_t>(words.top);
    view.annotate = words.annotate;
    if (words.annotate.empty() && format != "html") return view;
    std::map<std::string, std::string> module_of;  // by source file
    for (const auto& record : records)
        for (const auto& run : record.runs)
            if (run.extra.where)
                for (const std::string& function : report::hottest_functions(*run.extra.where, view))
                    for (const auto* instruction : report::instructions_of(*run.extra.where, function))
                        module_of.emplace(instruction->file, instruction->module);
    for (const auto& [file, module] : module_of) {
        const auto path = file.empty() ? std::nullopt : find_source(file, words.source_folders);
        if (!path) continue;
        view.sources[file] = lines_of(*path);
        if (is_newer(*path, module)) view.newer_sources.insert(file);
    }
    return view;
}

}  // namespace tmaprobe::cli
