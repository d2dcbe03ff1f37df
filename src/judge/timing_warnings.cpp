#include "judge/timing_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tmaprobe::judge {
namespace {

const char* repetitions_were(int count) { return count == 1 ? "repetition was" : "repetitions were"; }

}  // namespace

bool too_few_clean(const record::Time& time) {
    return time.clean + time.disturbed > 0 && time.clean < record::enough_clean;
}

std::string why_too_few(const record::Time& time) {
    const int all = time.clean + time.disturbed;
    std::string text = fmt::format("{} of {} {} undisturbed, and it takes {}", time.clean, all, repetitions_were(all),
                                   record::enough_clean);
    if (!time.causes.empty()) text += ": " + record::describe(time.causes);
    return text;
}

std::string what_to_do(const record::Time& time) {
    if (time.disturbed == 0)
        return fmt::format("ask for more repetitions: --repeat {} or more, or none to let them be chosen",
                           record::enough_clean);
    const std::string remedy = record::remedy(time.causes);
    return (remedy.empty() ? std::string("measure at a quieter time") : remedy) +
           "; --repeat 100 waits longer for quiet moments";
}

std::vector<record::DisturbedBy> merge_causes(const std::vector<record::DisturbedBy>& one,
                                              const std::vector<record::DisturbedBy>& other) {
    std::vector<record::DisturbedBy> merged = one;
    for (const auto& causes : other) {
        const auto same =
            std::find_if(merged.begin(), merged.end(), [&](const auto& known) { return known.cause == causes.cause; });
        if (same == merged.end()) {
            merged.push_back(causes);
            continue;
        }
        // The median of both is not known without the repetitions: that of the larger group stands for it.
        if (causes.repetitions > same->repetitions) same->median = causes.median;
        if (std::fabs(causes.most) > std::fabs(same->most)) same->most = causes.most;
        same->repetitions += causes.repetitions;
    }
    std::stable_sort(merged.begin(), merged.end(),
                     [](const auto& a, const auto& b) { return a.repetitions > b.repetitions; });
    return merged;
}

void add_timing_warnings(const record::Time& time, const std::string& whose, std::vector<record::Warning>& warnings) {
    if (!time.known) return;
    if (time.disturbed > 0) {
        const std::string how = time.causes.empty() ? "" : ": " + record::describe(time.causes);
        std::string hint = "statistics are over the clean ones";
        if (too_few_clean(time)) {
            const char* over = time.clock == record::ClockKind::processor
                                   ? "all, in the thread's processor time, which leaves out what it waited"
                                   : "all, and hold what the threads waited";
            hint = fmt::format("too few clean ones: statistics are over {}; {}", over, what_to_do(time));
        }
        warnings.push_back({"disturbed",
                            fmt::format("{}{} of {} {} disturbed{}", whose, time.disturbed, time.clean + time.disturbed,
                                        repetitions_were(time.clean + time.disturbed), how),
                            hint});
    }
    constexpr double noisy_share = 0.03;
    if (time.ns_per_op.count > 2 && time.ns_per_op.mad > noisy_share * time.ns_per_op.median)
        warnings.push_back({"noisy_machine",
                            fmt::format("{}the repetitions spread by {:.1f}% around their median", whose,
                                        100 * time.ns_per_op.mad / time.ns_per_op.median),
                            time.operation == "command"
                                ? "other work on the machine, a changing clock, or the program itself: raise --repeat"
                                : "other work on the machine, or a changing clock: try again, or raise --repeat"});
}

}  // namespace tmaprobe::judge
