#include "report/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <tuple>

#include "report/numbers.h"

namespace tmaprobe::report {
namespace {

using record::CauseSlots;
using record::CodePlace;
using record::PlaceKind;
using record::SlotCause;
using record::Where;

/// Causes that a reader takes for one, and what helps against them.
struct CauseGroup {
    std::vector<SlotCause> causes;
    const char* words;
    const char* next;
};

const std::vector<CauseGroup>& cause_groups() {
    using enum SlotCause;
    static const std::vector<CauseGroup> groups{
        {{wrong_path, recovery, resteer},
         "mispredicted branches",
         "make the branch go one way (sort or divide the data), or compute both ways and select (masks, conditional "
         "moves)"},
        {{instruction_cache},
         "code that is not in the instruction cache",
         "make the code that runs smaller, or lay it out in the order in which it runs (profile-guided optimisation)"},
        {{decoder_switch, microcode, taken_branch, fetch_bandwidth},
         "the supply of instructions",
         "fewer taken branches and fewer, simpler instructions: unroll short loops, inline short calls"},
        {{dependency},
         "a chain of operations that wait for each other",
         "break the chain: several sums instead of one, cheaper operations than divisions, independent work beside it"},
        {{port}, "busy execution units", "do the same with fewer operations of that kind, or with vectors"},
        {{retirement}, "buffers full of finished instructions", "fewer instructions for the same work"},
        {{l1},
         "the latency of the first-level cache",
         "keep in registers what is loaded again, and take loads out of the chain"},
        {{l2, l3},
         "loads from the second- and third-level caches",
         "work on less data at a time (blocking), and put together what is used together"},
        {{dram, line_on_its_way},
         "loads from memory",
         "make the data smaller or work through it in order; prefetch what is known in advance; chase no pointers"},
        {{translation}, "TLB misses", "huge pages (MADV_HUGEPAGE), or put together what is used together"},
        {{forwarding},
         "loads that wait for a store to the same address",
         "load what was stored in one piece and of the same size, or keep it in a register"},
        {{aliasing},
         "loads that a store 4 KiB away holds up",
         "move one of the two in its page: pad, or align them differently (not both to 4 KiB)"},
        {{store_buffer},
         "stores, more than memory takes",
         "write less, or to lines that are in the cache; non-temporal stores for what is not read again"},
        {{lock}, "locked operations", "fewer of them: sums by thread, larger pieces of work"},
        {{serialization}, "serialising instructions", "take them out of the loop"},
    };
    return groups;
}

double slots_of_group(const CauseSlots& slots, const CauseGroup& group) {
    double sum = 0;
    for (const SlotCause cause : group.causes) sum += record::slots_of(slots, cause);
    return sum;
}

const CauseGroup& most_lost(const CauseSlots& slots) {
    const auto& groups = cause_groups();
    return *std::ranges::max_element(groups, {}, [&](const CauseGroup& one) { return slots_of_group(slots, one); });
}

std::string module_name(const std::string& module) {
    return module.empty() ? "code made while it ran" : base_name(module);
}

std::string lines_text(const CodePlace& place) {
    if (place.first_line == 0) return {};
    std::string text = base_name(place.file) + ":" + std::to_string(place.first_line);
    if (place.last_line > place.first_line) text += "-" + std::to_string(place.last_line);
    return text;
}

/// "sort<int>(int*, int) const" is "sort<int>".
std::string without_parameters(const std::string& function) {
    const std::size_t end = function.rfind(')');
    if (end == std::string::npos || function.find_first_of(">:", end) != std::string::npos) return function;
    int open = 0;
    for (std::size_t i = end + 1; i-- > 0;) {
        if (function[i] == ')') ++open;
        if (function[i] == '(' && --open == 0) return i > 0 ? function.substr(0, i) : function;
    }
    return function;
}

std::string function_name(const CodePlace& place) {
    if (!place.function.empty()) return without_parameters(place.function);
    if (place.address) return fmt::format("{}+{:#x}", module_name(place.module), place.address);
    return module_name(place.module);
}

bool same_function(const CodePlace& one, const CodePlace& other) {
    const auto name = [](const CodePlace& place) {
        return std::tie(place.module, place.function, place.inlined_into, place.address);
    };
    return name(one) == name(other);
}

/// "at line 217", where most of these slots are lost.
std::string hottest_line(const Where& where, const CodePlace& function, const CauseGroup& group) {
    const CodePlace* hottest = nullptr;
    double most = 0;
    for (const CodePlace& line : where.lines) {
        if (!same_function(line, function) || line.first_line == 0) continue;
        const double slots = slots_of_group(line.slots, group);
        if (slots > most) {
            most = slots;
            hottest = &line;
        }
    }
    if (!hottest) return {};
    const std::string number = std::to_string(hottest->first_line);
    return hottest->file == function.file ? " at line " + number : " at " + base_name(hottest->file) + ":" + number;
}

}  // namespace

// "sort(int*, int)" is "sort" too, and so are "sort.constprop.0", which a compiler made of it, and "mine::sort".
bool is_called(const std::string& function, const std::string& name) {
    if (name.empty()) return false;
    for (std::size_t at = function.find(name); at != std::string::npos; at = function.find(name, at + 1)) {
        const bool begins = at == 0 || (at >= 2 && function[at - 1] == ':' && function[at - 2] == ':');
        const std::size_t end = at + name.size();
        const bool ends =
            end == function.size() || std::string_view("(<.").find(function[end]) != std::string_view::npos;
        // What stands in parentheses or angle brackets is of what it is called with.
        if (begins && ends && std::string_view(function).substr(0, at).find_first_of("(<") == std::string_view::npos)
            return true;
    }
    return false;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

const std::vector<CodePlace>& places_of(const Where& where, PlaceKind kind) {
    switch (kind) {
        case PlaceKind::module:
            return where.modules;
        case PlaceKind::loop:
            return where.loops;
        case PlaceKind::line:
            return where.lines;
        case PlaceKind::instruction:
            return where.instructions;
        case PlaceKind::data:  // which are no places in the code
        case PlaceKind::path:
        case PlaceKind::function:
            break;
    }
    return where.functions;
}

std::string place_text(const CodePlace& place, PlaceKind kind) {
    const std::string lines = lines_text(place);
    switch (kind) {
        case PlaceKind::module:
            return module_name(place.module);
        case PlaceKind::loop:
            if (!place.loop_depth) return function_name(place) + ", in no loop";
            [[fallthrough]];
        case PlaceKind::line:
            return lines.empty() ? function_name(place) : lines + " " + function_name(place);
        case PlaceKind::instruction:
            return fmt::format("{}{}+{:#x} {}", lines.empty() ? "" : lines + " ", module_name(place.module),
                               place.address, place.instruction);
        case PlaceKind::data:
        case PlaceKind::path:
        case PlaceKind::function:
            break;
    }
    std::string text = function_name(place);
    if (!lines.empty())
        text += " (" + lines + ")";
    else if (!place.function.empty())
        text += " (" + module_name(place.module) + ")";
    if (!place.inlined_into.empty()) text += ", inlined into " + without_parameters(place.inlined_into);
    return text;
}

std::vector<const CodePlace*> loops_in_order(const Where& where) {
    const auto whole = [](const CodePlace* place) {
        return place->loop_depth ? place->share_with_inner : place->share;
    };
    std::vector<std::vector<const CodePlace*>> inside(where.loops.size() + 1);  // the last: of those in no other
    for (const CodePlace& loop : where.loops)
        inside[std::min<std::size_t>(loop.inside.value_or(where.loops.size()), where.loops.size())].push_back(&loop);
    for (auto& of_one : inside) std::ranges::stable_sort(of_one, std::greater<>(), whole);
    // What is to come next is the last.
    std::vector<const CodePlace*> order, waiting(inside.back().rbegin(), inside.back().rend());
    while (!waiting.empty()) {
        const CodePlace* loop = waiting.back();
        waiting.pop_back();
        order.push_back(loop);
        const auto& inner = inside[static_cast<std::size_t>(loop - where.loops.data())];
        waiting.insert(waiting.end(), inner.rbegin(), inner.rend());
    }
    // A record may say that two loops are in each other; each is shown once all the same.
    const std::set<const CodePlace*> shown(order.begin(), order.end());
    for (const CodePlace& loop : where.loops)
        if (!shown.contains(&loop)) order.push_back(&loop);
    return order;
}

PlaceFinding finding_of(const Where& where, const CodePlace& function) {
    const double own = record::sum_of(function.slots), all = record::sum_of(where.slots);
    const double retiring = record::slots_of(function.slots, SlotCause::retiring);
    PlaceFinding finding;
    finding.sentence =
        fmt::format("{} of slots: {}", percent(function.share), place_text(function, PlaceKind::function));
    if (own <= 0 || all <= 0) return finding;
    const CauseGroup& group = most_lost(function.slots);
    const double lost = slots_of_group(function.slots, group);
    // Where more is done than lost for the foremost cause, several times, the work itself is what there is to change.
    constexpr double mostly = 0.7;
    if (retiring >= mostly * own || lost <= 0) {
        finding.sentence += fmt::format(", {} of them doing its work", percent(retiring / own));
        finding.next =
            "the core is kept busy here: only fewer instructions make it faster (vectors, another algorithm)";
    } else {
        finding.sentence += fmt::format(", bound by {}{}: {} of all slots", group.words,
                                        hottest_line(where, function, group), percent(lost / all));
        finding.next = group.next;
    }
    return finding;
}

std::vector<std::string> missed_by_the_model(const Where& where) {
    constexpr std::size_t most = 2;
    constexpr double too_little = 0.05;
    std::vector<const CodePlace*> missed;
    for (const CodePlace& function : where.functions)
        if (function.measured && function.measured->low > std::max(function.high, too_little))
            missed.push_back(&function);
    const auto by_samples = [](const CodePlace* function) { return function->measured->share; };
    std::ranges::stable_sort(missed, std::greater{}, by_samples);
    if (missed.size() > most) missed.resize(most);
    std::vector<std::string> sentences;
    for (const CodePlace* function : missed)
        sentences.push_back(fmt::format(
            "measured here: {} of samples ({:.0f}..{:.0f}%) are in {}, to which the model puts {} of slots",
            percent(function->measured->share), 100 * function->measured->low, 100 * function->measured->high,
            place_text(*function, PlaceKind::function), percent(function->share)));
    return sentences;
}

std::string words_of_samples(const Where& where) {
    if (!where.samples) return {};
    const record::PlaceSamples& samples = *where.samples;
    const bool by_time = samples.event == "task-clock";
    const std::string by = by_time ? "the kernel's timer" : samples.event + (samples.precision ? ", precise" : "");
    const std::string apart = by_time
                                  ? fmt::format("{:.0f} ms of a thread's processor time", samples.every * 1e-6)
                                  : fmt::format("{:.0f} million {} of a thread", samples.every * 1e-6, samples.event);
    std::string text = fmt::format(
        "measured by {}: share of {} samples of the command's own code on this machine, up to {} apart, "
        "with 95% bounds",
        by, samples.taken, apart);
    if (samples.precision < 2)
        text += fmt::format("; an instruction may be shown {} late", samples.precision ? "one" : "some");
    if (samples.not_placed)
        text += fmt::format("; {} of them were in code that is not known, and in no share", samples.not_placed);
    if (samples.lost) text += fmt::format("; {} were lost", samples.lost);
    if (samples.tasks_left_out) text += fmt::format("; {} threads were not sampled", samples.tasks_left_out);
    return text + ".";
}

std::vector<const CodePlace*> instructions_of(const Where& where, const std::string& function) {
    std::vector<const CodePlace*> instructions;
    for (const CodePlace& one : where.instructions)
        if (!one.slots.empty() && (is_called(one.function, function) || is_called(one.inlined_into, function)))
            instructions.push_back(&one);
    std::ranges::sort(instructions, {}, [](const CodePlace* one) { return std::tie(one->module, one->address); });
    return instructions;
}

std::vector<std::string> hottest_functions(const Where& where, const WhereView& view) {
    if (!view.annotate.empty()) return {view.annotate};
    constexpr std::size_t most = 3;
    constexpr double least_share = 0.02;
    std::vector<std::string> names;
    for (const CodePlace& function : where.functions) {
        // What is inlined is shown where it was called.
        const std::string& name = function.inlined_into.empty() ? function.function : function.inlined_into;
        if (names.size() == most || function.share < least_share) break;
        if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
}

std::string words_of_most_slots(const CauseSlots& slots) {
    const CauseGroup& group = most_lost(slots);
    return slots_of_group(slots, group) > record::slots_of(slots, SlotCause::retiring) ? group.words : "retiring";
}

std::string words_of(const record::InstructionCounts& counts) {
    constexpr double nothing = 0.0005;  // would be shown as 0.0%
    std::string text;
    if (counts.loads > 0) {
        text = fmt::format("{:.{}f} cycles a load", counts.load_cycles, counts.load_cycles < 9.95 ? 1 : 0);
        if (counts.load_misses >= nothing) text += ", " + percent(counts.load_misses) + " miss";
    }
    if (counts.mispredictions >= nothing)
        text += (text.empty() ? "" : "; ") + percent(counts.mispredictions) + " mispredicted";
    return text;
}

std::vector<const CodePlace*> lines_with_gains(const Where& where) {
    std::vector<const CodePlace*> lines;
    for (const CodePlace& line : where.lines)
        if (line.if_it_never_waited) lines.push_back(&line);
    std::ranges::stable_sort(lines, std::greater{},
                             [](const CodePlace* line) { return line->if_it_never_waited->value; });
    return lines;
}

}  // namespace tmaprobe::report
