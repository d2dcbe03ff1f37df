#include "judge/interference_findings.h"

#include "judge/timing_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tmaprobe::judge {

namespace {

/// The causes over all rounds, with how many repetitions there were.
record::Time disturbance_of(const Outcomes& outcomes) {
    record::Time all;
    for (const auto& record : outcomes.records) {
        const auto& time = record.runs.front().time;
        all.clean += time.clean;
        all.disturbed += time.disturbed;
        all.causes = merge_causes(all.causes, time.causes);
    }
    return all;
}

/// Change of time within each round that says something of both states.
std::vector<double> changes_by_round(const Outcomes& outcomes, const Outcomes& alone) {
    std::vector<double> changes;
    for (std::size_t round = 0; round < std::min(alone.ns_per_op.size(), outcomes.ns_per_op.size()); ++round) {
        const bool disturbed = too_few_clean(alone.records[round].runs.front().time) ||
                               too_few_clean(outcomes.records[round].runs.front().time);
        if (!disturbed) changes.push_back(outcomes.ns_per_op[round] / alone.ns_per_op[round] - 1);
    }
    return changes;
}

std::string why_not_compared(std::size_t rounds, std::size_t usable, const Outcomes& outcomes, const Outcomes& alone) {
    const auto causes = merge_causes(disturbance_of(alone).causes, disturbance_of(outcomes).causes);
    std::string why =
        fmt::format("{} of {} round{} had {} undisturbed repetitions on both sides, and it takes {} rounds", usable,
                    rounds, rounds == 1 ? "" : "s", record::enough_clean, record::enough_clean);
    if (causes.empty()) return why + "; more --rounds";
    return why + fmt::format(": of the repetitions, {}; more --rounds, and: {}", record::describe(causes),
                             record::remedy(causes));
}

}  // namespace

record::Run summarize_state(const std::string& state, const Outcomes& outcomes, const Outcomes& alone) {
    const auto order = summarize(outcomes.ns_per_op);
    std::size_t middle = 0;
    for (std::size_t index = 0; index < outcomes.ns_per_op.size(); ++index)
        if (std::fabs(outcomes.ns_per_op[index] - order.median) < std::fabs(outcomes.ns_per_op[middle] - order.median))
            middle = index;
    record::Run run = outcomes.records[middle].runs.front();
    const double bytes_per_op =
        run.time.bytes_per_second.count ? run.time.bytes_per_second.median * run.time.ns_per_op.median : 0;
    run.time.ns_per_op = order;
    if (bytes_per_op > 0) {
        std::vector<double> rates;
        for (const double ns : outcomes.ns_per_op) rates.push_back(bytes_per_op / ns);
        run.time.bytes_per_second = summarize(rates);
    }
    // Each metric's bounds cover every round, not only the one that is shown.
    for (auto& metric : run.metrics)
        for (const auto& record : outcomes.records)
            for (const auto& other : record.runs.front().metrics)
                if (other.name == metric.name && other.status == metric.status) {
                    metric.low = std::min(metric.low, other.value);
                    metric.high = std::max(metric.high, other.value);
                }
    auto& finding = run.extra.state.emplace();
    finding.name = state;
    finding.rounds_ns_per_op = outcomes.ns_per_op;
    if (state != "alone") {
        const auto changes = changes_by_round(outcomes, alone);
        finding.compared_rounds = changes.size();
        if (changes.size() < static_cast<std::size_t>(record::enough_clean)) {
            finding.not_compared = why_not_compared(outcomes.ns_per_op.size(), changes.size(), outcomes, alone);
            return run;
        }
        const auto change = summarize(changes);
        finding.against_alone = change.median;
        finding.against_alone_low = change.low;
        finding.against_alone_high = change.high;
    }
    return run;
}

std::string state_sentence(const record::Run& run) {
    if (!run.extra.state) return "";
    const auto& finding = *run.extra.state;
    const std::string& state = finding.name;
    if (!finding.against_alone || !finding.against_alone_low || !finding.against_alone_high)
        return fmt::format("{}: not compared with alone ({})", state, finding.not_compared);
    const double change = *finding.against_alone, low = *finding.against_alone_low, high = *finding.against_alone_high;
    // The extremes of fewer rounds enclose the median with less than 95%: 1 - 2 / 2^5 is 94%.
    constexpr std::size_t least_rounds = 6;
    const std::uint64_t rounds = finding.compared_rounds.value_or(least_rounds);
    const std::string few =
        rounds < least_rounds ? fmt::format("; {} round{}, too few for 95%", rounds, rounds == 1 ? "" : "s") : "";
    if (low <= 0 && high >= 0)
        return fmt::format("{}: no difference that stands out of the noise ({:+.1f}% to {:+.1f}% time per operation{})",
                           state, 100 * low, 100 * high, few);
    return fmt::format("{}: the victim is {:.1f}% {} than alone ({}{:+.1f}% to {:+.1f}%{})", state,
                       100 * std::fabs(change), change > 0 ? "slower" : "faster", few.empty() ? "95%: " : "", 100 * low,
                       100 * high, few);
}

std::string allocation_sentence(const std::vector<record::Run>& runs, record::AllocationControl control) {
    constexpr double close_to_alone = 0.05;
    const record::Run* enough = nullptr;
    bool any = false;
    for (const auto& run : runs) {
        if (!run.extra.allocation || run.extra.allocation->control != control || !run.extra.state) continue;
        if (!run.extra.state->against_alone)
            return fmt::format("{}: too few undisturbed rounds to say which share is enough", name_of(control));
        any = true;
        const bool close = *run.extra.state->against_alone <= close_to_alone;
        if (!close) enough = nullptr;
        if (close && !enough) enough = &run;
    }
    if (!any) return "";
    if (!enough)
        return fmt::format("{}: even at the last step the victim is more than 5% slower than alone", name_of(control));
    return fmt::format("{}: from {} on the victim is within 5% of alone", name_of(control), enough->extra.state->name);
}

}  // namespace tmaprobe::judge
