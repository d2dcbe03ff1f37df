#include "experiments/replay_target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

namespace tmaprobe::experiments {
namespace {

/// Event select and unit mask: thresholds, edges and the like are of a formula, not of a CPU.
std::uint64_t base_of(events::PmuFormat format, std::uint64_t config) {
    constexpr std::uint64_t intel_and_arm = 0xffff, amd = 0xf0000ffff;
    return config & (format == events::PmuFormat::amd ? amd : intel_and_arm);
}

bool is_raw(const std::string& spelling) {
    return spelling.find('/') != std::string::npos ||
           (spelling.size() > 2 && spelling[0] == 'r' &&
            spelling.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos);
}

/// How many of the spellings are events of this CPU.
std::size_t known_to(const events::Table& table, const std::set<std::string>& spellings) {
    std::set<std::uint64_t> bases;
    for (const auto& event : table.events) bases.insert(base_of(table.format, event.config));
    return static_cast<std::size_t>(std::ranges::count_if(spellings, [&](const std::string& spelling) {
        const auto event = events::resolve(table, spelling);
        return event && (!is_raw(spelling) || bases.contains(base_of(table.format, event->config)));
    }));
}

/// The spellings that tell one CPU from another.
std::set<std::string> telling(const events::Table& table, const std::vector<record::Event>& events) {
    std::set<std::string> spellings;
    for (const auto& event : events) {
        const auto resolved = events::resolve(table, event.name);
        const bool everywhere = resolved && std::ranges::any_of(table.kernel_events, [&](const auto& kernel) {
                                    return kernel.name == resolved->name;
                                });
        if (!everywhere) spellings.insert(event.name);
    }
    return spellings;
}

}  // namespace

Result<std::optional<record::Warning>> wrong_target(const events::Library& library, const events::Table& table,
                                                    const std::vector<record::Event>& events) {
    constexpr std::size_t few = 3;  // that may agree by chance
    const auto spellings = telling(table, events);
    const std::size_t own = known_to(table, spellings);
    if (spellings.size() < few || own == spellings.size()) return std::nullopt;

    std::size_t best = 0;
    std::vector<events::Target> fitting;
    for (const auto& target : TRY(events::known_targets(library))) {
        if (target.folder == table.folder) continue;
        const auto other = events::load(library, target.folder);
        if (!other) continue;  // a table with a fault is told where it is asked for
        const std::size_t known = known_to(*other, spellings);
        if (known > best) fitting.clear();
        best = std::max(best, known);
        if (known == best) fitting.push_back(target);
    }
    // Neighbours of one vendor share most of their events: a better fit by a few says nothing.
    const bool most = 2 * best > spellings.size(), clearly = best >= few && 4 * own <= 3 * best && best - own >= 2;
    if (!most || !clearly) return std::nullopt;
    constexpr std::size_t shown = 4;
    const std::string further =
        fitting.size() > shown ? fmt::format(" and {} more", fitting.size() - shown) : std::string();
    fitting.resize(std::min(fitting.size(), shown));
    std::vector<std::string> names;
    for (const auto& target : fitting)
        names.push_back(target.title.empty() ? target.folder : fmt::format("{} ({})", target.folder, target.title));
    return record::Warning{
        "wrong_target",
        fmt::format("these are rather another CPU's counts: {} of {} events are known of {}, {} of {}{}", own,
                    spellings.size(), table.folder, best, fmt::join(names, ", "), further),
        fmt::format("--target names the CPU that counted, for example {}", fitting.front().folder)};
}

}  // namespace tmaprobe::experiments
