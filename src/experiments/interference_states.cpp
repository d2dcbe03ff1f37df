#include "experiments/interference_states.h"

#include "counters/resctrl/steps.h"

namespace tmaprobe::experiments {
namespace {

namespace resctrl = counters::resctrl;

Result<std::vector<LoadState>> allocation_states(const InterferenceRequest& request,
                                                 const Result<resctrl::Info>& info) {
    if (request.limit || request.protect)
        return fail(ErrorCode::bad_usage,
                    "--allocations measures the victim alone: --limit and --protect do not go with it",
                    "measure them in a run of their own");
    if (!info) {
        Error error = info.error();
        error.what = "--allocations needs resctrl: " + error.what;
        return tl::unexpected<Error>(error);
    }
    const bool monitored = !info->monitors.empty();
    std::vector<LoadState> states{{"alone", false, {}, {}, monitored, {}}};
    for (const auto& control : request.allocations) {
        const auto steps = TRY(resctrl::steps_of(*info, control));
        for (const auto& step : steps) {
            auto schemata = TRY(resctrl::schemata_for(*info, step.limit));
            states.push_back({step.name,
                              false,
                              std::move(schemata),
                              {},
                              monitored,
                              record::Allocation{value_named<record::AllocationControl>(control).value_or(
                                                     record::AllocationControl::l3),
                                                 static_cast<double>(step.value), step.unit, step.of}});
        }
    }
    return states;
}

/// The schemata of a limit, or none when none was asked for.
Result<std::optional<std::string>> schemata_of(const resctrl::Info& info, const std::optional<resctrl::Limit>& limit) {
    if (!limit) return std::optional<std::string>{};
    auto schemata = TRY(resctrl::schemata_for(info, *limit));
    return std::optional<std::string>(std::move(schemata));
}

}  // namespace

Result<std::vector<LoadState>> choose_states(const InterferenceRequest& request, const Result<resctrl::Info>& info) {
    if (!request.allocations.empty()) return allocation_states(request, info);
    const bool monitored = info && !info->monitors.empty();
    std::vector<LoadState> states{{"alone", false, {}, {}, monitored, {}},
                                  {"with neighbour", true, {}, {}, monitored, {}}};
    if (!info) return states;
    const auto limited = TRY(schemata_of(*info, request.limit));
    const auto shielded = TRY(schemata_of(*info, request.protect));
    if (limited) states.push_back({"neighbour limited", true, {}, limited, monitored, {}});
    if (shielded) states.push_back({"victim protected", true, shielded, {}, monitored, {}});
    if (limited && shielded) states.push_back({"isolated", true, shielded, limited, monitored, {}});
    return states;
}

}  // namespace tmaprobe::experiments
