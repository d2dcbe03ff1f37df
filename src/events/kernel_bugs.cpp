#include "events/kernel_bugs.h"

#include <algorithm>

#include "events/library.h"
#include "events/read_data_as.h"

namespace tmaprobe::events {

/// One row of kernel-bugs.json.
struct KernelBugRow {
    std::string id, what, hint, state, cpus;
    std::vector<std::vector<std::string>> affects;  ///< pairs of versions
    std::vector<std::string> needs;
};

}  // namespace tmaprobe::events

namespace tmaprobe::json {

using events::KernelBugRow;

template <>
struct Description<KernelBugRow> {
    static constexpr auto fields = std::make_tuple(
        field("id", &KernelBugRow::id), field("what", &KernelBugRow::what), field("hint", &KernelBugRow::hint),
        field("state", &KernelBugRow::state), field("affects", &KernelBugRow::affects),
        optional("cpus", &KernelBugRow::cpus), optional("needs", &KernelBugRow::needs));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<std::vector<KernelBug>> kernel_bugs(const Library& library) {
    constexpr const char* file_name = "kernel-bugs.json";
    const auto there = TRY(read_if_there(library, file_name));
    if (!there) return std::vector<KernelBug>{};
    auto rows = TRY(read_rows<KernelBugRow>(library, file_name));
    std::vector<KernelBug> bugs;
    for (KernelBugRow& row : rows) {
        KernelBug bug{row.id, row.what, row.hint, row.state == "warning", {}, row.needs, row.cpus};
        for (const auto& range : row.affects) {
            if (range.size() != 2)
                return fail(ErrorCode::bad_input,
                            label_of(library, file_name) + ": " + row.id + ": affects is not pairs of versions");
            bug.affects.emplace_back(machine::parse_kernel_version(range[0]), machine::parse_kernel_version(range[1]));
        }
        bugs.push_back(std::move(bug));
    }
    return bugs;
}

bool has_bug(const machine::KernelVersion& version, const KernelBug& bug) {
    if (version == machine::KernelVersion{}) return false;
    return std::ranges::any_of(bug.affects,
                               [&](const auto& range) { return version >= range.first && version < range.second; });
}

}  // namespace tmaprobe::events
