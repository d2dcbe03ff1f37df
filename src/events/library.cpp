#include "events/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "events/embedded.h"
#include "metrics/cpuid.h"

namespace tmaprobe::events {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

/// Names of the folders directly in the root of a directory library.
std::vector<std::string> folders_in_root(const Library& library) {
    std::vector<std::string> folders;
    std::error_code problem;
    if (library.directory)
        for (std::filesystem::directory_iterator at(*library.directory, problem), end; !problem && at != end;
             at.increment(problem))
            if (at->is_directory(problem)) folders.push_back(at->path().filename().string());
    std::ranges::sort(folders);
    return folders;
}

std::optional<std::string_view> embedded(std::string_view path) {
    // Sorted by path, as the build lays them out.
    std::size_t low = 0;
    std::size_t high = embedded_count();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (embedded_file(middle).path < path)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == embedded_count() || embedded_file(low).path != path) return std::nullopt;
    return embedded_file(low).content;
}

}  // namespace

std::string label_of(const Library& library, std::string_view relative_path) {
    if (library.directory) return (*library.directory / relative_path).string();
    return fmt::format("events/{}", relative_path);
}

Result<std::optional<std::string>> read_if_there(const Library& library, std::string_view relative_path) {
    if (!library.directory) {
        if (const auto content = embedded(relative_path)) return std::string(*content);
        return std::nullopt;
    }
    std::error_code problem;
    const auto path = *library.directory / relative_path;
    if (!std::filesystem::exists(path, problem)) return std::nullopt;
    return TRY(read_file(path));
}

Result<std::vector<std::string>> files_in(const Library& library, std::string_view folder) {
    std::vector<std::string> names;
    if (!library.directory) {
        const std::string prefix = folder.empty() ? "" : fmt::format("{}/", folder);
        for (std::size_t i = 0; i < embedded_count(); ++i) {
            const std::string_view path = embedded_file(i).path;
            if (path.starts_with(prefix) && path.find('/', prefix.size()) == path.npos)
                names.emplace_back(path.substr(prefix.size()));
        }
        return names;
    }
    std::error_code problem;
    std::filesystem::directory_iterator at(*library.directory / folder, problem), end;
    if (problem) return fail(ErrorCode::bad_input, fmt::format("{}: {}", label_of(library, folder), problem.message()));
    for (; at != end; at.increment(problem)) {
        if (problem) break;
        if (at->is_regular_file(problem)) names.push_back(at->path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

Result<std::vector<MapRow>> parse_map(std::string_view label, std::string_view text, std::string_view root,
                                      bool check_patterns) {
    std::vector<MapRow> rows;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view row = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (row.empty() || row.starts_with('#') || row.starts_with("Family-model")) continue;
        if (const auto strange = std::ranges::find_if(row, [](unsigned char c) { return c < ' ' || c > '~'; });
            strange != row.end())
            return fail(ErrorCode::bad_input, fmt::format("{}:{}:{}: a byte that no CPU id and no file name has", label,
                                                          line, strange - row.begin() + 1));
        // A pattern may itself hold a comma: the other columns are taken from the end.
        std::vector<std::string_view> columns;
        std::string_view rest = row;
        while (columns.size() < 3) {
            const std::size_t comma = rest.rfind(',');
            if (comma == rest.npos)
                return fail(ErrorCode::bad_input,
                            fmt::format("{}:{}:1: expected 4 columns: pattern, version, folder, type", label, line));
            columns.push_back(trimmed(rest.substr(comma + 1)));
            rest = rest.substr(0, comma);
        }
        if (columns[0] != "core") continue;
        if (columns[1].find("..") != columns[1].npos || columns[1].starts_with('/'))
            return fail(ErrorCode::bad_input,
                        fmt::format("{}:{}:1: the folder '{}' lies outside", label, line, columns[1]));
        // Passed over, a later and wider row would take its place: another CPU's formulas.
        if (check_patterns && !metrics::is_cpuid_pattern(std::string(trimmed(rest))))
            return fail(ErrorCode::bad_input,
                        fmt::format("{}:{}:1: '{}' is no pattern of CPU ids", label, line, trimmed(rest)));
        rows.push_back({std::string(trimmed(rest)), std::string(columns[2]),
                        std::string(root) + std::string(columns[1]), std::string(root)});
    }
    return rows;
}

Result<std::vector<MapRow>> read_map(const Library& library) {
    std::vector<std::string> roots = {""};
    for (const std::string& folder : folders_in_root(library)) roots.push_back(folder + "/");
    std::vector<MapRow> rows;
    bool found = false;
    for (const std::string& root : roots) {
        const auto text = TRY(read_if_there(library, root + "mapfile.csv"));
        if (!text) continue;
        auto more = TRY(parse_map(label_of(library, root + "mapfile.csv"), *text, root, library.directory.has_value()));
        found = true;
        rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
        if (root.empty()) break;
    }
    if (!found)
        return fail(ErrorCode::bad_input, fmt::format("no mapfile.csv in {}", label_of(library, "")),
                    "--events takes a folder laid out like events/ or Linux's tools/perf/pmu-events/arch");
    return rows;
}

}  // namespace tmaprobe::events
