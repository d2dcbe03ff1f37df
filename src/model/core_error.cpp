#include "model/core_error.h"

#include <string>

#include "model/core/causes.h"

namespace tmaprobe::model {
namespace {

using record::SlotCause;

std::string fact_of(SlotCause cause) {
    return std::string("slots_by_cause_") + core::cause_names[static_cast<std::size_t>(cause)];
}

/// Where the slots of a cause are counted besides. Resteering is no operation of a wrong path: nothing is delivered.
const char* counted_as(SlotCause cause) {
    if (cause == SlotCause::wrong_path) return "uops_wrong_path";
    if (cause == SlotCause::recovery) return "slots_recovery";
    if (cause >= SlotCause::resteer && cause <= SlotCause::fetch_bandwidth) return "slots_frontend";
    return "slots_backend";
}

/// Multiplies what is there of these by how `slots` have changed.
void follow(Facts& facts, const Facts& before, std::initializer_list<const char*> slots,
            std::initializer_list<const char*> followers) {
    double was = 0, is = 0;
    for (const char* name : slots) {
        was += value_of(before, name);
        is += value_of(facts, name);
    }
    if (was <= 0) return;
    for (const char* name : followers)
        if (const auto found = facts.find(name); found != facts.end()) found->second *= is / was;
}

double CoreOff::* member_of(PartOfCore part) {
    if (part == PartOfCore::front_end) return &CoreOff::front_end;
    return part == PartOfCore::speculation ? &CoreOff::speculation : &CoreOff::back_end;
}

}  // namespace

PartOfCore part_of(SlotCause cause) {
    if (cause >= SlotCause::wrong_path && cause <= SlotCause::resteer) return PartOfCore::speculation;
    if (cause >= SlotCause::instruction_cache && cause <= SlotCause::fetch_bandwidth) return PartOfCore::front_end;
    return PartOfCore::back_end;
}

CoreOff draw_core(Random& random) {
    const auto off = [&] { return 2 * random.fraction() - 1; };
    return {off(), off(), off()};
}

double CyclesByCore::with(const CoreOff& off) const {
    const auto changed = [](double by, double if_slower, double if_faster) {
        return by * (by > 0 ? if_slower : if_faster);
    };
    return cycles + changed(off.front_end, more.front_end, fewer.front_end) +
           changed(off.speculation, more.speculation, fewer.speculation) +
           changed(off.back_end, more.back_end, fewer.back_end);
}

CyclesByCore cycles_by_core(const Facts& facts, const events::CoreError& error) {
    CyclesByCore by_core{cycles_of(facts), {}, {}};
    const double slots = value_of(facts, "slots");
    if (by_core.cycles <= 0 || slots <= 0) return by_core;
    for (const events::CauseError& one : error.causes) {
        const double cycles = value_of(facts, fact_of(one.cause)) / (slots / by_core.cycles);
        by_core.more.*member_of(part_of(one.cause)) += cycles * one.more;
        by_core.fewer.*member_of(part_of(one.cause)) += cycles * one.less;
    }
    return by_core;
}

Facts with_core_error(const Facts& facts, const events::CoreError& error, const CoreOff& off) {
    const double cycles = cycles_of(facts), slots = value_of(facts, "slots");
    if (cycles <= 0 || slots <= 0) return facts;
    Facts changed = facts;
    for (const events::CauseError& one : error.causes) {
        const double by = off.*member_of(part_of(one.cause));
        const double added = value_of(facts, fact_of(one.cause)) * by * (by > 0 ? one.more : one.less);
        if (added == 0) continue;
        const SlotCause cause = one.cause == SlotCause::retiring ? one.as : one.cause;
        changed[fact_of(cause)] += added;
        changed[counted_as(cause)] += added;
        if (core::is_memory(cause)) changed["slots_backend_memory"] += added;
        changed["slots"] += added;
        changed["cycles"] += added / (slots / cycles);
    }
    follow(changed, facts, {"slots_frontend"},
           {"slots_frontend_latency", "cycles_frontend_none", "cycles_decoder_switch", "cycles_resteer",
            "cycles_unknown_target"});
    follow(changed, facts, {"uops_wrong_path", "slots_recovery"}, {"mispredicts"});
    follow(
        changed, facts, {"slots_backend"},
        {"cycles_backend_none", "cycles_no_execute", "cycles_one_execute", "cycles_two_execute", "cycles_no_retire"});
    follow(changed, facts, {"slots_backend_memory"},
           {"cycles_backend_none_memory", "cycles_no_execute_load", "cycles_no_execute_l1_miss",
            "cycles_no_execute_l2_miss", "cycles_no_execute_l3_miss", "cycles_store_bound", "cycles_store_buffer_full",
            "cycles_no_retire_load", "cycles_load_in_flight", "cycles_l1_miss"});
    follow(changed, facts, {"slots_frontend", "slots_backend", "slots_recovery"}, {"cycles_dispatch_nothing"});
    return changed;
}

std::vector<FactVariation> core_variations(const Facts& sum, const events::CoreError& error) {
    using enum record::Variation;
    std::vector<FactVariation> all;
    if (error.causes.empty() || value_of(sum, fact_of(SlotCause::retiring)) <= 0) return all;
    constexpr std::array names{core_slower,         core_faster,         front_end_differs, front_end_differs,
                               speculation_differs, speculation_differs, back_end_differs,  back_end_differs};
    for (std::size_t i = 0; i < outermost_cores.size(); ++i)
        all.push_back({names[i], with_core_error(sum, error, outermost_cores[i]), {}, {}, {}});
    return all;
}

}  // namespace tmaprobe::model
