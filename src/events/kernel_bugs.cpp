#include "events/kernel_bugs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "events/json_text.h"
#include "events/library.h"

namespace tmaprobe::events {
namespace {

constexpr const char* file_name = "kernel-bugs.json";

KernelBug read_bug(const nlohmann::json& row) {
    KernelBug bug;
    bug.id = row.at("id").get<std::string>();
    bug.what = row.at("what").get<std::string>();
    bug.hint = row.at("hint").get<std::string>();
    bug.spoils_counts = row.at("state").get<std::string>() == "warning";
    bug.cpus = row.value("cpus", "");
    for (const auto& range : row.at("affects"))
        bug.affects.emplace_back(machine::parse_kernel_version(range.at(0).get<std::string>()),
                                 machine::parse_kernel_version(range.at(1).get<std::string>()));
    bug.needs = row.value("needs", std::vector<std::string>{});
    return bug;
}

}  // namespace

Result<std::vector<KernelBug>> kernel_bugs(const Library& library) {
    const auto text = read_if_there(library, file_name);
    if (!text) return pass_on(text);
    if (!*text) return std::vector<KernelBug>{};
    const auto rows = parse_json(label_of(library, file_name), **text);
    if (!rows) return pass_on(rows);
    std::vector<KernelBug> bugs;
    try {
        for (const auto& row : *rows) bugs.push_back(read_bug(row));
    } catch (const nlohmann::json::exception& error) {
        return fail(ErrorCode::bad_input, fmt::format("{}: {}", label_of(library, file_name), error.what()));
    }
    return bugs;
}

bool has_bug(const machine::KernelVersion& version, const KernelBug& bug) {
    if (version == machine::KernelVersion{}) return false;
    return std::ranges::any_of(bug.affects, [&](const auto& range) { return version >= range.first && version < range.second; });
}

}  // namespace tmaprobe::events
