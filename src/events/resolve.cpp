#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/suggest.h"
#include "events/encoding.h"
#include "events/key.h"
#include "events/libpfm.h"
#include "events/library.h"
#include "events/schema.h"
#include "events/table.h"
#include "metrics/expression.h"

namespace tmaprobe::events {
namespace {

/// An event's spelling taken apart: "pmu/event,term=value/modifiers".
struct Spelling {
    std::string head;  ///< before the terms: a PMU or an event; empty: there are no terms
    std::vector<std::string> terms;
    std::string modifiers;
};

bool is_core_pmu(const std::string& pmu) { return pmu.empty() || pmu == "cpu_core" || pmu == "cpu_atom"; }

bool is_modifier_text(std::string_view text) {
    return !text.empty() && text.find_first_not_of("ukhpPGHDSWIebR") == text.npos;
}

/// The event of this name in a sorted list, on the wanted PMU. Without one: of the core, then cpu_core.
const EventDefinition* find_event(const std::vector<EventDefinition>& events, const std::string& name,
                                  const std::optional<std::string>& pmu) {
    const std::string wanted = lower_case(name);
    const auto begin = std::ranges::lower_bound(events, wanted, {},
                                                [](const EventDefinition& event) { return lower_case(event.name); });
    const EventDefinition* found = nullptr;
    const auto rank = [](const EventDefinition& event) {
        return event.pmu.empty() ? 0 : event.pmu == "cpu_core" ? 1 : event.pmu == "cpu_atom" ? 2 : 3;
    };
    for (auto at = begin; at != events.end() && lower_case(at->name) == wanted; ++at) {
        if (pmu && at->pmu != *pmu) continue;
        if (!found || rank(*at) < rank(*found)) found = &*at;
    }
    return found;
}

const EventDefinition* find_named(const Table& table, const std::string& name, const std::optional<std::string>& pmu) {
    if (const EventDefinition* event = find_event(table.events, name, pmu)) return event;
    const bool hybrid_part = pmu && (*pmu == "cpu_core" || *pmu == "cpu_atom");
    return find_event(table.kernel_events, name, hybrid_part ? std::optional<std::string>("") : pmu);
}

Result<Spelling> take_apart(const std::string& text) {
    const std::size_t open = text.find_first_of("/@");
    if (open == text.npos) return Spelling{};
    const std::size_t close = text.rfind(text[open]);
    if (close == open)
        return fail(ErrorCode::bad_usage, fmt::format("event '{}' has no closing '{}'", text, text[open]),
                    "write for example cpu/event=0x9c,umask=0x1/");
    Spelling spelling;
    spelling.head = text.substr(0, open);
    spelling.modifiers = text.substr(close + 1);
    if (spelling.modifiers.starts_with(':')) spelling.modifiers.erase(0, 1);
    const std::string inner = text.substr(open + 1, close - open - 1);
    for (std::size_t at = 0; at <= inner.size();) {
        const std::size_t end = std::min(inner.find(',', at), inner.size());
        spelling.terms.push_back(inner.substr(at, end - at));
        at = end + 1;
    }
    return spelling;
}

bool is_raw(const std::string& text) {
    return text.size() > 1 && text.size() <= 17 && text[0] == 'r' &&
           text.find_first_not_of("0123456789abcdefABCDEF", 1) == text.npos;
}

/// Terms of perf's that say nothing about what is counted.
bool is_idle_term(std::string_view key) {
    static constexpr std::array<std::string_view, 8> idle = {"name",    "period",    "freq", "cpu",
                                                             "percore", "metric-id", "time", "aggr-mode"};
    return std::ranges::find(idle, key) != idle.end();
}

/// An offcore response is one event with a value of its own for each request and answer (MSR 0x1a6), which no number
/// of names exhausts: Intel lists up to two thousand for a core, the tables here the ones in use.
std::optional<Error> unknown_offcore_response(const Table& table, const std::string& name) {
    const auto is_one = [](const std::string& text) {
        const std::string lower = lower_case(text);
        return lower.starts_with("ocr.") || lower.starts_with("offcore_response");
    };
    if (!is_one(name)) return std::nullopt;
    const std::string what = fmt::format("no event '{}' on {}", name, table.folder);
    if (table.format != PmuFormat::intel)
        return Error{ErrorCode::bad_usage, what + ": offcore responses are events of Intel's cores", ""};
    std::vector<std::string> known;
    std::string spelling;
    for (const EventDefinition& event : table.events) {
        if (!is_one(event.name)) continue;
        known.push_back(event.name);
        if (spelling.empty() && event.config1)
            spelling =
                fmt::format("{}/event={:#x},umask={:#x},offcore_rsp=VALUE/", event.pmu.empty() ? "cpu" : event.pmu,
                            event.config & 0xff, event.config >> 8 & 0xff);
    }
    if (spelling.empty()) return std::nullopt;
    const std::string one = suggest(name, known);
    return Error{ErrorCode::bad_usage,
                 fmt::format("{}: the table has {} offcore response{} of many", what, known.size(),
                             known.size() == 1 ? "" : "s"),
                 (one.ends_with('?') ? one + " " : "") + spelling + " counts any, by the MSRValue in Intel's table"};
}

tl::unexpected<Error> unknown_event(const Table& table, const std::string& name) {
    if (auto offcore = unknown_offcore_response(table, name)) return tl::unexpected(std::move(*offcore));
    std::vector<std::string> names;
    for (const auto* events : {&table.events, &table.kernel_events})
        for (const EventDefinition& event : *events) names.push_back(event.name);
    // Case is no difference, so it must not spoil the comparison.
    const bool upper = std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
    std::string hint = suggest(name, names);
    if (hint.empty() && !upper) {
        std::string in_upper = name;
        std::ranges::transform(in_upper, in_upper.begin(),
                               [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        hint = suggest(in_upper, names);
    }
    if (hint.empty()) hint = fmt::format("tmaprobe list events --target {} shows what there is", table.folder);
    return fail(ErrorCode::bad_usage, fmt::format("no event '{}' on {}", name, table.folder), hint);
}

/// "pmu/terms/": fields, with at most one name among them that they refine.
Result<EventDefinition> resolve_terms(const Table& table, const Spelling& spelling, const std::string& text) {
    EventDefinition event;
    std::optional<std::string> pmu;
    if (const EventDefinition* named = find_named(table, spelling.head, std::nullopt)) {
        event = *named;
    } else {
        pmu = canonical_pmu(table, spelling.head);
        event.pmu = *pmu;
        const std::string name = spelling.terms.front();
        if (name.find('=') == name.npos) {
            if (const EventDefinition* found = find_named(table, name, pmu)) {
                event = *found;
                event.pmu = *pmu;
            } else if (name.empty()) {
                return fail(ErrorCode::bad_usage, fmt::format("event '{}' names nothing to count", text));
            }
        }
    }
    const PmuFormat format = is_core_pmu(event.pmu) ? table.format : PmuFormat::other;
    const bool named = !event.name.empty();
    for (std::size_t i = named && pmu ? 1 : 0; i < spelling.terms.size(); ++i) {
        const std::string& term = spelling.terms[i];
        const std::size_t equals = term.find('=');
        const std::string key = term.substr(0, equals);
        if (is_idle_term(key)) continue;
        if (is_raw(term)) {  // cpu/r19c/
            event.config = parse_number("0x" + term.substr(1)).value_or(0);
            continue;
        }
        std::uint64_t value = 1;
        if (equals != term.npos) {
            const auto number = parse_number(std::string_view(term).substr(equals + 1));
            if (!number)
                return fail(ErrorCode::bad_usage, fmt::format("event '{}': {}: {}", text, key, number.error().what));
            value = *number;
        }
        if (const auto done = set_field(event, format, key, value); !done) {
            if (equals == term.npos && i == 0) return unknown_event(table, key);
            return fail(ErrorCode::bad_usage, fmt::format("event '{}': {}", text, done.error().what),
                        done.error().hint);
        }
    }
    event.name = text;
    std::ranges::replace(event.name, '@', '/');
    event.modifiers = spelling.modifiers;
    return event;
}

}  // namespace

std::string canonical_pmu(const Table& table, const std::string& pmu) {
    if (pmu == "cpu" || pmu == "default_core" || pmu == "core") return "";
    if (table.format == PmuFormat::arm && pmu.starts_with("arm")) return "";
    return pmu;
}

std::string privilege_of(const EventDefinition& event) {
    std::string levels;
    for (const char level : {'u', 'k', 'h'})
        if (event.modifiers.find(level) != std::string::npos) levels += level;
    // The host, or host and guests, is what is counted anyway.
    const bool guests_alone =
        event.modifiers.find('G') != std::string::npos && event.modifiers.find('H') == std::string::npos;
    return guests_alone ? levels + 'G' : levels;
}

EventKey key_of(const Table& table, const EventDefinition& event) {
    EventKey key{canonical_pmu(table, event.pmu),
                 event.config,
                 event.config1,
                 event.config2,
                 event.is_latency(),
                 privilege_of(event),
                 {}};
    if (key.privilege.starts_with("uk")) key.privilege = key.privilege.ends_with('G') ? "G" : "";
    const bool encoded = is_core_pmu(key.pmu) || key.pmu == "msr" || key.pmu == "software" || key.pmu == "tool";
    if (!encoded) key.name = lower_case(event.name);
    return key;
}

const EventDefinition* find_event(const Table& table, std::string_view name) {
    return find_named(table, std::string(name), std::nullopt);
}

Result<EventDefinition> resolve(const Table& table, std::string_view given) {
    const std::string text = metrics::without_escapes(std::string(given));
    if (text.empty()) return fail(ErrorCode::bad_usage, "an event's name is empty");
    if (text.find("::") != text.npos) return encode_with_libpfm(text);

    const auto spelling = TRY(take_apart(text));
    if (!spelling.head.empty()) return resolve_terms(table, spelling, text);

    if (const EventDefinition* event = find_named(table, text, std::nullopt)) return *event;
    const std::size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const std::string modifiers = colon == text.npos ? "" : text.substr(colon + 1);
    if (modifiers.empty() || is_modifier_text(modifiers)) {
        if (const EventDefinition* found = find_named(table, name, std::nullopt)) {
            EventDefinition event = *found;
            event.modifiers = modifiers;
            if (!modifiers.empty()) event.name += ":" + modifiers;
            return event;
        }
        if (is_raw(name)) {
            EventDefinition event;
            event.name = name;
            event.modifiers = modifiers;
            event.config = parse_number("0x" + name.substr(1)).value_or(0);
            return event;
        }
    }
    if (!table.libpfm4_pmu.empty())
        if (auto event = encode_with_libpfm(table.libpfm4_pmu + "::" + text)) return event;
    if (find_named(table, name, std::nullopt))
        return fail(ErrorCode::bad_usage, fmt::format("event '{}': '{}' is no modifier", text, modifiers),
                    fmt::format("{0}:u user mode, {0}:k kernel mode", name));
    return unknown_event(table, name);
}

std::string other_cpu_of(const Table& table, std::string_view spelling) {
    const std::size_t end = spelling.find("::");
    if (end == spelling.npos) return {};
    const std::string pmu = lower_case(spelling.substr(0, end));
    const bool of_any_cpu = pmu == "perf" || pmu == "perf_raw" || pmu == "ix86arch";
    return of_any_cpu || pmu == table.libpfm4_pmu || !libpfm_has_pmu(pmu) ? std::string() : pmu;
}

}  // namespace tmaprobe::events
