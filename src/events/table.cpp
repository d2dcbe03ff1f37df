#include "events/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/suggest.h"
#include "events/classification.h"
#include "events/hybrid.h"
#include "events/library.h"
#include "events/read_data_as.h"
#include "events/schema.h"
#include "metrics/cpuid.h"

namespace tmaprobe::events {

/// One row of cpus.json: what a folder, or one CPU id of it, is called.
struct CpuRow {
    std::string folder, pattern, title;  ///< pattern: of CPU ids; empty: all of the folder
    std::vector<std::string> names;      ///< short ones, lower case: "skx"
    std::optional<double> slots;
};

/// One row of libpfm4.json: what libpfm4 calls a folder's PMU.
struct PmuRow {
    std::string folder, pmu;
};

}  // namespace tmaprobe::events

namespace tmaprobe::json {

using events::CpuRow, events::PmuRow;

template <>
struct Description<CpuRow> {
    static constexpr auto fields = std::make_tuple(field("folder", &CpuRow::folder), optional("cpu", &CpuRow::pattern),
                                                   optional("title", &CpuRow::title), optional("names", &CpuRow::names),
                                                   optional("slots", &CpuRow::slots));
};
template <>
struct Description<PmuRow> {
    static constexpr auto fields = std::make_tuple(field("folder", &PmuRow::folder), field("pmu", &PmuRow::pmu));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {
namespace {

/// "arm64/arm/neoverse-n1" is known to users as "neoverse-n1".
std::string_view short_name(std::string_view folder) { return folder.substr(folder.rfind('/') + 1); }

PmuFormat format_of(const MapRow& row) {
    if (row.pattern.find("GenuineIntel") != std::string::npos) return PmuFormat::intel;
    if (row.pattern.find("AuthenticAMD") != std::string::npos || row.pattern.find("HygonGenuine") != std::string::npos)
        return PmuFormat::amd;
    const bool arm_root = row.root.empty() || row.root == "arm64/";
    return arm_root && metrics::is_midr(row.pattern) ? PmuFormat::arm : PmuFormat::other;
}

bool looks_like_cpu_id(std::string_view target) {
    return target.starts_with("0x") || target.starts_with("Genuine") || target.starts_with("Authentic") ||
           std::ranges::count(target, '-') >= 2;
}

struct FoundTarget {
    MapRow row;
    std::string cpu_id;
};

Result<FoundTarget> find_target(const Library& library, std::string_view target) {
    const auto rows = TRY(read_map(library));
    for (const MapRow& row : rows)
        if (metrics::cpuid_matches(row.pattern, target)) return FoundTarget{row, std::string(target)};
    const std::string wanted = lower_case(target);
    for (const MapRow& row : rows)
        if (lower_case(row.folder) == wanted || lower_case(short_name(row.folder)) == wanted)
            return FoundTarget{row, std::string(short_name(row.folder))};
    auto cpus = TRY(read_rows<CpuRow>(library, "cpus.json"));
    std::vector<std::string> names;
    for (const CpuRow& cpu : cpus) {
        // A foreign tree need not have every CPU that has a name here.
        const auto row = std::ranges::find_if(rows, [&](const MapRow& candidate) {
            return short_name(candidate.folder) == cpu.folder &&
                   (cpu.pattern.empty() || metrics::cpuid_matches(candidate.pattern, cpu.pattern));
        });
        if (row == rows.end()) continue;
        for (const std::string& name : cpu.names)
            if (name == wanted) return FoundTarget{*row, cpu.pattern.empty() ? cpu.folder : cpu.pattern};
        names.insert(names.end(), cpu.names.begin(), cpu.names.end());
    }
    for (const MapRow& row : rows) names.emplace_back(short_name(row.folder));
    if (looks_like_cpu_id(target))
        return fail(ErrorCode::bad_usage, fmt::format("no event table for CPU id '{}'", target),
                    "tmaprobe list targets shows what there is; --events DIR reads other tables");
    std::string hint = suggest(target, names);
    if (hint.empty()) hint = "tmaprobe list targets shows what there is";
    return fail(ErrorCode::bad_usage, fmt::format("no target is called '{}'", target), hint);
}

/// Files of a CPU's folder that hold no events or metrics.
bool is_table_file(const std::string& name) {
    static constexpr std::array<std::string_view, 4> others = {"geometry.json", "model.json", "counter.json",
                                                               "metricgroups.json"};
    return name.ends_with(".json") && std::ranges::find(others, name) == others.end();
}

Result<TableFile> read_table_text(const Library& library, const std::string& path) {
    auto text = TRY(read_if_there(library, path));
    if (!text) return fail(ErrorCode::bad_input, label_of(library, path) + " cannot be read");
    return TableFile{label_of(library, path), std::move(*text)};
}

/// The standard events of the architecture, which lie beside its mapfile; only Arm and RISC-V have any.
Result<StandardRows> read_standard(const Library& library, const std::string& root) {
    StandardRows standard;
    if (root.empty()) return standard;
    const auto names = TRY(files_in(library, root.substr(0, root.size() - 1)));
    for (const std::string& name : names) {
        if (!name.ends_with(".json")) continue;
        const auto file = TRY(read_table_text(library, root + name));
        TRY(read_standard_file(file, standard));
    }
    return standard;
}

Result<> read_folder(const Library& library, const MapRow& row, Table& table) {
    const auto names = TRY(files_in(library, row.folder));
    StandardRows standard;
    bool standard_read = false;
    for (const std::string& name : names) {
        if (!is_table_file(name)) continue;
        const auto file = TRY(read_table_text(library, row.folder + "/" + name));
        if (!standard_read && file.text.find("\"ArchStdEvent\"") != std::string::npos) {
            auto rows = TRY(read_standard(library, row.root));
            standard = std::move(rows);
            standard_read = true;
        }
        if (const auto read = read_table_file(file, standard, table); !read) return read;
    }
    if (table.events.empty() && table.metrics.empty())
        return fail(ErrorCode::bad_input,
                    fmt::format("{} holds no events and no metrics", label_of(library, row.folder)));
    return {};
}

/// Title, slots and libpfm4's name, from the small lists beside the folders.
Result<> read_names(const Library& library, std::string_view cpu_id, Table& table) {
    const auto cpus = TRY(read_rows<CpuRow>(library, "cpus.json"));
    for (const CpuRow& cpu : cpus) {
        if (cpu.folder != table.folder) continue;
        const bool fits = cpu.pattern.empty() || metrics::cpuid_matches(cpu.pattern, cpu_id);
        if (!fits && !table.title.empty()) continue;
        table.title = cpu.title;
        if (fits && cpu.slots) table.slots_per_cycle = cpu.slots;
    }
    const auto pmus = TRY(read_rows<PmuRow>(library, "libpfm4.json"));
    for (const PmuRow& row : pmus)
        if (row.folder == table.folder) table.libpfm4_pmu = row.pmu;
    return {};
}

bool before(const EventDefinition& a, const EventDefinition& b) {
    return std::tuple(lower_case(a.name), a.pmu) < std::tuple(lower_case(b.name), b.pmu);
}

}  // namespace

Result<Table> load(const Library& library, std::string_view target) {
    const auto found = TRY(find_target(library, target));
    Table table;
    table.cpu_id = found.cpu_id;
    table.folder = std::string(short_name(found.row.folder));
    table.format = format_of(found.row);
    TRY(read_folder(library, found.row, table));

    const auto kernel_events = TRY(read_data(library, "kernel-events.json"));
    const TableFile kernel_file{label_of(library, "kernel-events.json"), kernel_events};
    TRY(read_kernel_events(kernel_file, table));
    TRY(read_names(library, found.cpu_id, table));
    TRY(classify_metrics(library, table));
    for (auto& metric : table.metrics) {
        if (metric.pmu != "cpu_core" && metric.pmu != "cpu_atom") continue;
        metric.expression = with_pmu(metric.expression, metric.pmu, table);
        if (!metric.threshold.empty()) metric.threshold = with_pmu(metric.threshold, metric.pmu, table);
    }
    std::ranges::stable_sort(table.events, before);
    std::ranges::stable_sort(table.kernel_events, before);

    const auto source = TRY(read_if_there(library, found.row.folder + "/SOURCE"));
    table.source = source ? source->substr(0, source->find('\n'))
                          : fmt::format("{}, table version {}", label_of(library, found.row.folder), found.row.version);
    return table;
}

Result<std::vector<Target>> known_targets(const Library& library) {
    const auto rows = TRY(read_map(library));
    std::map<std::string, Target> targets;
    for (const MapRow& row : rows) {
        Target& target = targets[std::string(short_name(row.folder))];
        target.folder = std::string(short_name(row.folder));
        target.patterns.push_back(row.pattern);
        target.version = row.version;
    }
    const auto cpus = TRY(read_rows<CpuRow>(library, "cpus.json"));
    for (const CpuRow& cpu : cpus) {
        const auto found = targets.find(cpu.folder);
        if (found == targets.end()) continue;
        Target& target = found->second;
        target.title += (target.title.empty() ? "" : ", ") + cpu.title;
        target.names.insert(target.names.end(), cpu.names.begin(), cpu.names.end());
    }
    std::vector<Target> sorted;
    for (auto& [name, target] : targets) sorted.push_back(std::move(target));
    return sorted;
}

Result<std::vector<std::string>> targets(const Library& library) {
    const auto known = TRY(known_targets(library));
    std::vector<std::string> names;
    for (const Target& target : known) names.push_back(target.folder);
    return names;
}

Result<std::string> read_data(const Library& library, std::string_view relative_path) {
    auto text = read_if_there(library, relative_path);
    if (!text) return pass_on(text);
    if (!*text && library.directory && relative_path.find('/') == relative_path.npos) {
        text = read_if_there(Library{}, relative_path);
        if (!text) return pass_on(text);
    }
    if (!*text) return fail(ErrorCode::unavailable, fmt::format("there is no {}", label_of(library, relative_path)));
    return std::move(**text);
}

}  // namespace tmaprobe::events
