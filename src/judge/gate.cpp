#include "judge/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "base/statistics.h"

namespace tmaprobe::judge {
namespace {

using record::CodeCost;
using record::Estimated;
using record::Gate;
using record::GateResult;
using record::ProgramCost;

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Of two that are independent, from the halves of their intervals, each a share of its value.
Estimated change_of(const Estimated& before, const Estimated& after) {
    const double ratio = after.value / before.value;
    const auto half = [](const Estimated& one) { return (one.high - one.low) / 2 / one.value; };
    const double wide = ratio * std::hypot(half(before), half(after));
    return {ratio - 1, ratio - 1 - wide, ratio - 1 + wide};
}

using Key = std::tuple<std::string, std::string, std::string, std::uint64_t>;

/// Code is the same where module, function, file and line are; a function is, wherever it begins.
Key key_of(const CodeCost& code, bool by_line) {
    return {code.module, code.function, base_name(code.file), by_line ? code.line : 0};
}

std::vector<record::CostMove> moves_of(const std::vector<CodeCost>& before, const std::vector<CodeCost>& after,
                                       bool by_line, double all_before) {
    // A line that only got another number cannot be told from one that is new: functions can.
    constexpr double worth_telling = 0.001;
    constexpr std::size_t most = 20;
    std::map<Key, record::CostMove> moves;
    for (const CodeCost& code : before) {
        auto& move = moves[key_of(code, by_line)];
        move.code = code;
        move.before += code.cycles;
    }
    for (const CodeCost& code : after) {
        auto& move = moves[key_of(code, by_line)];
        move.code = code;
        move.after += code.cycles;
    }
    std::vector<record::CostMove> moved;
    for (auto& [key, move] : moves) {
        move.share = (move.after - move.before) / all_before;
        if (std::abs(move.share) >= worth_telling) moved.push_back(std::move(move));
    }
    std::ranges::stable_sort(
        moved, [](const auto& one, const auto& other) { return std::abs(one.share) > std::abs(other.share); });
    if (moved.size() > most) moved.resize(most);
    return moved;
}

/// Names of functions in `those` that `others` lacks and that matter.
std::vector<std::string> only_in(const ProgramCost& those, const ProgramCost& others) {
    constexpr double matters = 0.001;
    std::vector<std::string> names;
    for (const CodeCost& code : those.functions) {
        if (code.function.empty() || code.cycles < matters * those.cycles.value) continue;
        const bool known = std::ranges::any_of(others.functions, [&](const CodeCost& other) {
            return other.function == code.function && other.module == code.module;
        });
        if (!known && std::ranges::find(names, code.function) == names.end()) names.push_back(code.function);
    }
    return names;
}

std::vector<std::string> notes_of(const Gate& baseline, const Gate& now) {
    std::vector<std::string> notes;
    if (!baseline.command.empty() && !now.command.empty()) {
        const std::string before = base_name(baseline.command.front()), after = base_name(now.command.front());
        if (before != after) notes.push_back(fmt::format("the baseline is of {}, this is {}", before, after));
        if (!std::ranges::equal(baseline.command.begin() + 1, baseline.command.end(), now.command.begin() + 1,
                                now.command.end()))
            notes.push_back("the arguments are other than the baseline's");
    }
    // The program itself is what may change.
    std::vector<std::string> others;
    for (std::size_t i = 1; i < now.cost.modules.size(); ++i) {
        const auto& module = now.cost.modules[i];
        for (const auto& known : baseline.cost.modules)
            if (known.name == module.name && known.hash != module.hash) others.push_back(module.name);
    }
    if (!others.empty()) notes.push_back(fmt::format("other builds than the baseline's: {}", fmt::join(others, ", ")));
    if (now.cost.clock_reads > baseline.cost.clock_reads && baseline.cost.clock_reads == 0)
        notes.push_back(
            fmt::format("it now reads the clock ({} times), which the baseline did not", now.cost.clock_reads));
    return notes;
}

/// How far a change is from what is allowed. Beyond it only where the intervals of both costs lie apart: a slow-down of
/// just what is allowed is found as often as not, whatever the interval's width. Not judged where that is too wide.
record::GateVerdict verdict_of(const Estimated& before, const Estimated& after, const Estimated& change,
                               double fail_above) {
    constexpr double finest = 0.005;  // nobody is to be told that half a percent cannot be seen
    if (change.value > fail_above && after.low > before.high) return record::GateVerdict::slower;
    if (const double told = std::max(fail_above, finest);
        change.high > 2 * told && (change.high - change.low) / 2 > told)
        return record::GateVerdict::not_judged;
    const bool faster = change.value < -fail_above && after.high < before.low;
    return faster ? record::GateVerdict::faster : record::GateVerdict::passed;
}

void compare_regions(const Gate& baseline, const Gate& now, GateResult& result) {
    const auto& before = baseline.cost.regions;
    const auto& after = now.cost.regions;
    for (const record::RegionInRun& region : after) {
        const auto known = std::ranges::find(before, region.name, &record::RegionInRun::name);
        if (known == before.end() || known->cycles.value <= 0) {
            result.regions_appeared.push_back(region.name);
            continue;
        }
        const Estimated change = change_of(known->cycles, region.cycles);
        result.regions.push_back({region.name, verdict_of(known->cycles, region.cycles, change, result.fail_above),
                                  known->cycles.value, region.cycles.value, change});
    }
    for (const record::RegionInRun& region : before)
        if (std::ranges::find(after, region.name, &record::RegionInRun::name) == after.end())
            result.regions_vanished.push_back(region.name);
}

std::string percent_of(double share) { return fmt::format("{:.2f}%", 100 * share); }

}  // namespace

std::string why_not_repeatable(const Gate& gate) {
    const ProgramCost& cost = gate.cost;
    if (cost.cycles.value <= 0) return "nothing of it was simulated";
    // Clocks, chance and other threads make small differences that decide nothing.
    constexpr double alike = 0.001;
    const double apart = std::abs(cost.instructions_again - cost.instructions);
    if (apart <= alike * cost.instructions) return {};
    std::string why =
        fmt::format("two runs of it executed {:.0f} and {:.0f} instructions ({} apart): ", cost.instructions,
                    cost.instructions_again, percent_of(apart / cost.instructions));
    why += cost.clock_reads
               ? fmt::format("it reads the clock ({} times), and its work depends on the time", cost.clock_reads)
               : "its work depends on chance or on what is outside it";
    return why;
}

GateResult gate_result(const Gate& baseline, const Gate& now, double fail_above) {
    GateResult result;
    result.fail_above = fail_above;
    result.baseline_cycles = baseline.cost.cycles.value;
    result.notes = notes_of(baseline, now);
    result.reason = why_not_repeatable(now);
    if (!result.reason.empty()) return result;
    if (const std::string why = why_not_repeatable(baseline); !why.empty()) {
        result.reason = "the baseline says nothing: " + why;
        return result;
    }
    if (baseline.architecture != now.architecture) {
        result.reason = fmt::format(
            "the baseline's program could choose among the instructions of {}, here it can "
            "among those of {}",
            baseline.architecture, now.architecture);
        return result;
    }
    const Estimated change = change_of(baseline.cost.cycles, now.cost.cycles);
    result.change = change;
    if (baseline.cost.instructions > 0) result.instructions = now.cost.instructions / baseline.cost.instructions - 1;
    if (!baseline.cost.measured_ns.empty() && !now.cost.measured_ns.empty())
        result.measured = median(now.cost.measured_ns) / median(baseline.cost.measured_ns) - 1;
    for (std::size_t i = 0; i < std::min(baseline.cost.layouts.size(), now.cost.layouts.size()); ++i)
        result.layouts.push_back(now.cost.layouts[i] / baseline.cost.layouts[i] - 1);
    result.functions = moves_of(baseline.cost.functions, now.cost.functions, false, baseline.cost.cycles.value);
    result.lines = moves_of(baseline.cost.lines, now.cost.lines, true, baseline.cost.cycles.value);
    result.appeared = only_in(now.cost, baseline.cost);
    result.vanished = only_in(baseline.cost, now.cost);
    compare_regions(baseline, now, result);
    result.verdict = verdict_of(baseline.cost.cycles, now.cost.cycles, change, fail_above);
    if (result.verdict == record::GateVerdict::not_judged)
        result.reason = fmt::format(
            "the change is {:+.2f}%, and the interval {:+.2f}%..{:+.2f}% is too wide to tell "
            "whether it is more than {}",
            100 * change.value, 100 * change.low, 100 * change.high, percent_of(fail_above));
    if (std::ranges::find(result.regions, record::GateVerdict::slower, &record::RegionChange::verdict) !=
        result.regions.end()) {
        result.verdict = record::GateVerdict::slower;
        result.reason.clear();
    }
    return result;
}

namespace {

std::string how_to_make_anew(const std::string& name) {
    return fmt::format("tmaprobe gate --update {} -- COMMAND makes it anew", name);
}

}  // namespace

Result<> check_baseline(const record::Record& baseline, const std::string& name, const std::string& version,
                        const std::string& target) {
    const auto refuse = [&](const std::string& why, const std::string& hint) {
        return fail(ErrorCode::bad_input, name + ": " + why, hint);
    };
    const std::string anew = how_to_make_anew(name);
    if (baseline.runs.size() != 1 || !baseline.runs.front().extra.gate)
        return refuse("this record is no baseline of a gate", anew);
    const Gate& gate = *baseline.runs.front().extra.gate;
    const auto& tool = baseline.tool.version;
    if (!tool.empty() && tool != version)
        return refuse(fmt::format("made by tmaprobe {}, and this is {}: costs of two versions of the model cannot be "
                                  "compared",
                                  tool, version),
                      anew);
    if (!target.empty() && target != baseline.source.target)
        return refuse(
            fmt::format("the baseline was modelled for {}, and --target asks for {}", baseline.source.target, target),
            "leave --target out: the gate takes the baseline's; or make it anew with --update");
    const auto& cost = gate.cost;
    const auto is_number = [](double value) { return std::isfinite(value) && value > 0; };
    const bool ordered = cost.cycles.low <= cost.cycles.value && cost.cycles.value <= cost.cycles.high;
    const bool sums = std::ranges::all_of(cost.layouts, is_number) && cost.layouts.size() == gate.layouts;
    const double mean = cost.layouts.empty() ? 0
                                             : std::accumulate(cost.layouts.begin(), cost.layouts.end(), 0.0) /
                                                   static_cast<double>(cost.layouts.size());
    // Layouts are estimated from windows of their own.
    constexpr double apart = 0.2;
    if (!is_number(cost.cycles.value) || !is_number(cost.cycles.low) || !is_number(cost.instructions) || !ordered ||
        !sums || std::abs(mean - cost.cycles.value) > apart * cost.cycles.value)
        return refuse("its numbers contradict each other: it was changed by hand, or damaged", anew);
    return {};
}

Result<> check_model(const record::Gate& baseline, const std::string& name, const std::string& model) {
    if (baseline.model == model) return {};
    const std::string made = baseline.model.empty() ? "by a build that did not say with which model"
                                                    : fmt::format("with model {}", baseline.model);
    return fail(ErrorCode::bad_input,
                fmt::format("{}: made {}, and this build has {}: another model gives other costs of the same program, "
                            "which cannot be compared",
                            name, made, model),
                how_to_make_anew(name) + ", of the program as it was then");
}

}  // namespace tmaprobe::judge
