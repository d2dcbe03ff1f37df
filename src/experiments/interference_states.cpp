#include "experiments/interference_states.h"

#include "counters/resctrl/steps.h"

namespace tmaprobe::experiments {
namespace {

namespace resctrl = counters::resctrl;

Result<std::vector<State>> allocation_states(const InterferenceRequest& request, const Result<resctrl::Info>& info) {
    if (request.limit || request.protect)
        return fail(ErrorCode::bad_usage, "--allocations measures the victim alone: --limit and --protect do not go with it",
                    "measure them in a run of their own");
    if (!info) {
        Error error = info.error();
        error.what = "--allocations needs resctrl: " + error.what;
        return tl::unexpected<Error>(error);
    }
    const bool monitored = !info->monitors.empty();
    std::vector<State> states{{"alone", false, {}, {}, monitored, {}}};
    for (const auto& control : request.allocations) {
        const auto steps = resctrl::steps_of(*info, control);
        if (!steps) return pass_on(steps);
        for (const auto& step : *steps) {
            auto schemata = resctrl::schemata_for(*info, step.limit);
            if (!schemata) return pass_on(schemata);
            states.push_back({step.name, false, std::move(*schemata), {}, monitored,
                              {{"control", control}, {"value", step.value}, {"unit", step.unit}, {"of", step.of}}});
        }
    }
    return states;
}

/// The schemata of a limit, or none when none was asked for.
Result<std::optional<std::string>> schemata_of(const resctrl::Info& info, const std::optional<resctrl::Limit>& limit) {
    if (!limit) return std::optional<std::string>{};
    auto schemata = resctrl::schemata_for(info, *limit);
    if (!schemata) return pass_on(schemata);
    return std::optional<std::string>(std::move(*schemata));
}

}  // namespace

Result<std::vector<State>> choose_states(const InterferenceRequest& request, const Result<resctrl::Info>& info) {
    if (!request.allocations.empty()) return allocation_states(request, info);
    const bool monitored = info && !info->monitors.empty();
    std::vector<State> states{{"alone", false, {}, {}, monitored, {}}, {"with neighbour", true, {}, {}, monitored, {}}};
    if (!info) return states;
    const auto limited = schemata_of(*info, request.limit);
    if (!limited) return pass_on(limited);
    const auto shielded = schemata_of(*info, request.protect);
    if (!shielded) return pass_on(shielded);
    if (*limited) states.push_back({"neighbour limited", true, {}, *limited, monitored, {}});
    if (*shielded) states.push_back({"victim protected", true, *shielded, {}, monitored, {}});
    if (*limited && *shielded) states.push_back({"isolated", true, *shielded, *limited, monitored, {}});
    return states;
}

}  // namespace tmaprobe::experiments
