#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "counters/perf/bounds.h"
#include "counters/replay/replay.h"
#include "events/key.h"

namespace tmaprobe::counters::replay {
namespace {

/// One event of the whole machine: its lines over CPUs, and over intervals, added up.
struct Total {
    events::EventDefinition definition;
    bool known = false;  ///< the table has an encoding for it
    std::string spelling;
    double value = 0;
    double variance = 0;  ///< of the sum, relative
    double run_ns = 0, enabled_ns = 0;
    double spread = 0;  ///< sum of squared standard errors
    int counted_lines = 0, missing_lines = 0, unsupported_lines = 0;
    std::size_t first_line = 0;
};

/// perf rotates groups that do not fit at this period unless told otherwise (kernel default at 250 Hz).
constexpr double rotation_ns = 4e6;

double factor_of_unit(const std::string& unit) { return unit == "msec" ? 1e6 : 1; }

void add(Total& total, const Line& line) {
    if (!line.supported) {
        ++total.unsupported_lines;
        return;
    }
    if (!line.counted) {
        ++total.missing_lines;
        return;
    }
    ++total.counted_lines;
    const double value = line.value * factor_of_unit(line.unit);
    total.value += value;
    total.spread += std::pow(value * line.variance, 2);
    total.run_ns += line.run_ns;
    total.enabled_ns += line.share > 0 ? line.run_ns / line.share : line.run_ns;
}

/// The event of a line; one that the table does not know keeps its name and is left to the user's eyes.
Total start(const Line& line, const events::Table& table) {
    Total total;
    total.spelling = line.event;
    total.first_line = line.line;
    if (auto definition = events::resolve(table, line.event)) {
        total.definition = std::move(*definition);
        total.known = true;
    } else {
        total.definition.name = line.event;
    }
    return total;
}

/// Two lines for the same event in the same place, neither of them multiplexed, must agree: two groups
/// that both ran all the time count alike, but for the moment between their starts.
Result<> check_repeat(std::string_view label, const Line& first, const Line& second) {
    if (!first.counted || !second.counted) return {};
    const auto refuse = [&](const std::string& what) {
        return fail(ErrorCode::bad_input,
                    fmt::format("{}:{}:1: {} was counted on line {} already{}", label, second.line, second.event,
                                first.line, what),
                    "one output of perf stat in one file; repeated runs are perf stat -r");
    };
    const bool same = first.value == second.value && first.run_ns == second.run_ns && first.share == second.share;
    if (same && second.line == first.line + 1) return refuse(", in the same words");
    const double difference = std::abs(first.value - second.value);
    constexpr double skew = 0.02, few = 50;
    if (first.share >= 1 && second.share >= 1 && difference > skew * std::max(first.value, second.value) &&
        difference > few)
        return refuse(fmt::format(", as {:.0f} instead of {:.0f}", first.value, second.value));
    return {};
}

/// A file that says everything twice is two outputs, or one pasted twice.
Result<> check_doubled(std::string_view label, const Snapshot& snapshot) {
    const std::size_t half = snapshot.lines.size() / 2;
    if (half < 2 || snapshot.lines.size() % 2 != 0) return {};
    for (std::size_t i = 0; i < half; ++i) {
        const Line &first = snapshot.lines[i], &second = snapshot.lines[half + i];
        if (first.event != second.event || first.where != second.where) return {};
    }
    return fail(ErrorCode::bad_input,
                fmt::format("{}:{}:1: every count stands there twice", label, snapshot.lines[half].line),
                "one output of perf stat in one file; repeated runs are perf stat -r");
}

/// Events of one snapshot in order, summed over places. An event that a place has twice was in two groups.
Result<std::vector<Total>> sum_places(std::string_view label, const Snapshot& snapshot, const events::Table& table) {
    TRY(check_doubled(label, snapshot));
    std::vector<Total> totals;
    std::map<std::pair<std::string, int>, std::size_t> total_of;                   // (spelling, which of its groups)
    std::map<std::pair<std::string, std::string>, std::vector<const Line*>> seen;  // (spelling, place)
    for (const Line& line : snapshot.lines) {
        auto& earlier = seen[{line.event, line.where}];
        for (const Line* other : earlier) TRY(check_repeat(label, *other, line));
        const int group = static_cast<int>(earlier.size());
        earlier.push_back(&line);
        const auto [at, fresh] = total_of.try_emplace({line.event, group}, totals.size());
        if (fresh) totals.push_back(start(line, table));
        add(totals[at->second], line);
    }
    return totals;
}

/// The event's name without its modifiers: "cycles" of "cycles:u", "cpu/event=0x3c/" of "cpu/event=0x3c/u".
std::string without_modifiers(const events::EventDefinition& event) {
    std::string name = event.name.substr(0, event.name.size() - std::min(event.name.size(), event.modifiers.size()));
    if (name.ends_with(':')) name.pop_back();
    return name;
}

/// Where an event was counted in user and in kernel mode apart, and not as a whole, the sum is added.
void add_privileges(const events::Table& table, std::vector<Total>& totals, std::vector<record::Warning>& warnings) {
    std::map<events::EventKey, std::map<std::string, std::vector<std::size_t>>> by_event;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        if (!totals[i].known || totals[i].counted_lines == 0) continue;
        events::EventKey key = events::key_of(table, totals[i].definition);
        const std::string privilege = std::exchange(key.privilege, "");
        by_event[key][privilege].push_back(i);
    }
    for (auto& [key, parts] : by_event) {
        if (!parts[""].empty() || parts["u"].size() != 1 || parts["k"].size() != 1) continue;
        const Total &user = totals[parts["u"].front()], &kernel = totals[parts["k"].front()];
        Total sum = user;
        sum.definition.name = without_modifiers(user.definition);
        sum.definition.modifiers.clear();
        sum.value += kernel.value;
        sum.spread += kernel.spread;
        warnings.push_back(
            {"user_and_kernel_added", fmt::format("{} and {} were added", user.spelling, kernel.spelling), {}});
        totals.push_back(std::move(sum));
    }
}

/// Says so where some events of a PMU were counted in one mode alone and others in all: formulas mix no two.
void note_mixed_privileges(const events::Table& table, const std::vector<Total>& totals,
                           std::vector<record::Warning>& warnings) {
    std::map<events::EventKey, bool> is_whole;  // by event, without its privilege
    std::set<std::string> whole_pmus;
    for (const Total& total : totals) {
        if (!total.known || total.unsupported_lines > 0) continue;
        events::EventKey key = events::key_of(table, total.definition);
        const bool whole = std::exchange(key.privilege, "").empty();
        if (whole) whole_pmus.insert(key.pmu);
        is_whole[key] = is_whole[key] || whole;
    }
    std::string parts;
    for (const Total& total : totals) {
        if (!total.known || total.unsupported_lines > 0) continue;
        events::EventKey key = events::key_of(table, total.definition);
        key.privilege.clear();
        if (!is_whole[key] && whole_pmus.contains(key.pmu)) parts += (parts.empty() ? "" : ", ") + total.spelling;
    }
    if (!parts.empty())
        warnings.push_back({"mixed_privileges",
                            fmt::format("not counted in all modes, as other events were: {}", parts),
                            "no formula mixes them; count all events with the same modifiers"});
}

record::Event to_event(const events::Table& table, const Total& total) {
    record::Event event;
    event.name = total.definition.name;
    const std::string pmu = events::canonical_pmu(table, total.definition.pmu);
    event.pmu = pmu.empty() ? "cpu" : pmu;
    if (total.known) {
        event.config = fmt::format("{:#x}", total.definition.config);
        event.key = events::key_of(table, total.definition);
    }
    record::Reading& reading = event.reading;
    if (total.counted_lines == 0) {
        event.note = total.missing_lines > 0 ? record::Note::not_counted : record::Note::not_supported;
        return event;
    }
    const double share = total.enabled_ns > 0 ? std::min(1.0, total.run_ns / total.enabled_ns) : 1;
    reading.value = total.value;
    reading.raw = static_cast<std::uint64_t>(std::min(total.value * share, 9e18));
    reading.time_running_ns = static_cast<std::uint64_t>(std::min(total.run_ns, 9e18));
    reading.time_enabled_ns = static_cast<std::uint64_t>(std::min(std::max(total.enabled_ns, total.run_ns), 9e18));
    // Counted on some CPUs or in some intervals alone: the sum lacks a part that nobody knows.
    if (total.missing_lines > 0) event.note = record::Note::not_counted;

    const double sampled = total.value * perf::multiplex_error(share, total.enabled_ns, rotation_ns, {}, 0);
    const double error = std::sqrt(sampled * sampled + std::pow(1.96, 2) * total.spread);
    if (error > 0) {
        // What was counted was counted: multiplexing cannot have made it more.
        event.low = std::max({total.value - error, total.spread > 0 ? 0.0 : total.value * share, 0.0});
        event.high = total.value + error;
    }
    return event;
}

/// Events that ran for the same time were scheduled together; an event cannot be in one group twice.
void assign_groups(std::vector<record::Event>& events) {
    int group = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto& reading = events[i].reading;
        bool fresh = i > 0 && (reading.time_running_ns != events[i - 1].reading.time_running_ns ||
                               reading.time_enabled_ns != events[i - 1].reading.time_enabled_ns);
        for (std::size_t other = begin; other < i; ++other) fresh = fresh || events[other].name == events[i].name;
        if (fresh) {
            ++group;
            begin = i;
        }
        events[i].group = group;
    }
}

Matched finish(const events::Table& table, std::vector<Total> totals) {
    Matched matched;
    add_privileges(table, totals, matched.warnings);
    note_mixed_privileges(table, totals, matched.warnings);
    std::string unknown;
    for (const Total& total : totals) {
        matched.events.push_back(to_event(table, total));
        if (!total.known) unknown += (unknown.empty() ? "" : ", ") + total.spelling;
    }
    if (!unknown.empty())
        matched.warnings.push_back({"unknown_events", fmt::format("not in the table of {}: {}", table.folder, unknown),
                                    "they take no part in any metric"});
    assign_groups(matched.events);
    return matched;
}

}  // namespace

Result<Matched> match(std::string_view label, const Snapshot& snapshot, const events::Table& table) {
    auto totals = TRY(sum_places(label, snapshot, table));
    return finish(table, std::move(totals));
}

Result<Matched> match_all(std::string_view label, const std::vector<Snapshot>& snapshots, const events::Table& table) {
    std::vector<Total> all;
    std::map<std::pair<std::string, int>, std::size_t> place_of;
    for (const Snapshot& snapshot : snapshots) {
        auto totals = TRY(sum_places(label, snapshot, table));
        const bool idle = snapshots.size() > 1 &&
                          std::ranges::none_of(totals, [](const Total& total) { return total.counted_lines > 0; });
        std::map<std::string, int> occurrences;
        for (Total& total : totals) {
            const auto [at, fresh] = place_of.try_emplace({total.spelling, occurrences[total.spelling]++}, all.size());
            // Where nothing ran there was nothing to count.
            if (idle) total.missing_lines = 0;
            if (fresh) {
                all.push_back(std::move(total));
                continue;
            }
            Total& sum = all[at->second];
            sum.value += total.value;
            sum.spread += total.spread;
            sum.run_ns += total.run_ns;
            sum.enabled_ns += total.enabled_ns;
            sum.counted_lines += total.counted_lines;
            sum.missing_lines += total.missing_lines;
            sum.unsupported_lines += total.unsupported_lines;
        }
    }
    return finish(table, std::move(all));
}

}  // namespace tmaprobe::counters::replay
