#include "model/core/facts.h"

namespace tmaprobe::model::core {
namespace {

/// Every counter with its name, in one place for subtraction and naming.
template <class Visit>
void for_each_counter(Visit&& visit) {
#define TMAPROBE_FACT(name) visit(#name, &PipelineFacts::name)
    TMAPROBE_FACT(cycles);
    TMAPROBE_FACT(instructions);
    TMAPROBE_FACT(slots);
    TMAPROBE_FACT(uops);
    TMAPROBE_FACT(uops_wrong_path);
    TMAPROBE_FACT(uops_microcode);
    TMAPROBE_FACT(uops_heavy);
    TMAPROBE_FACT(macro_fused);
    TMAPROBE_FACT(slots_frontend);
    TMAPROBE_FACT(slots_frontend_latency);
    TMAPROBE_FACT(slots_backend);
    TMAPROBE_FACT(slots_backend_memory);
    TMAPROBE_FACT(slots_recovery);
    TMAPROBE_FACT(cycles_frontend_none);
    TMAPROBE_FACT(cycles_decoder_switch);
    TMAPROBE_FACT(cycles_resteer);
    TMAPROBE_FACT(cycles_unknown_target);
    TMAPROBE_FACT(cycles_no_execute);
    TMAPROBE_FACT(cycles_no_execute_load);
    TMAPROBE_FACT(cycles_one_execute);
    TMAPROBE_FACT(cycles_two_execute);
    TMAPROBE_FACT(cycles_store_bound);
    TMAPROBE_FACT(cycles_load_in_flight);
    TMAPROBE_FACT(cycles_l1_miss);
    TMAPROBE_FACT(cycles_no_execute_l1_miss);
    TMAPROBE_FACT(cycles_no_execute_l2_miss);
    TMAPROBE_FACT(cycles_no_execute_l3_miss);
    TMAPROBE_FACT(cycles_no_retire);
    TMAPROBE_FACT(cycles_no_retire_load);
    TMAPROBE_FACT(cycles_dispatch_nothing);
    TMAPROBE_FACT(cycles_backend_none);
    TMAPROBE_FACT(cycles_backend_none_memory);
    TMAPROBE_FACT(cycles_store_buffer_full);
    TMAPROBE_FACT(branches);
    TMAPROBE_FACT(branches_taken);
    TMAPROBE_FACT(conditional_branches);
    TMAPROBE_FACT(mispredicts);
    TMAPROBE_FACT(unknown_targets);
    TMAPROBE_FACT(loads);
    TMAPROBE_FACT(stores);
    TMAPROBE_FACT(loads_aliased);
    TMAPROBE_FACT(unmodelled);
#undef TMAPROBE_FACT
}

}  // namespace

PipelineFacts operator-(const PipelineFacts& later, const PipelineFacts& earlier) {
    PipelineFacts difference;
    for_each_counter([&](const char*, std::uint64_t PipelineFacts::* counter) {
        difference.*counter = later.*counter - earlier.*counter;
    });
    for (std::size_t i = 0; i < cause_count; ++i) difference.by_cause[i] = later.by_cause[i] - earlier.by_cause[i];
    return difference;
}

PipelineFacts& operator+=(PipelineFacts& sum, const PipelineFacts& more) {
    for_each_counter([&](const char*, std::uint64_t PipelineFacts::* counter) { sum.*counter += more.*counter; });
    for (std::size_t i = 0; i < cause_count; ++i) sum.by_cause[i] += more.by_cause[i];
    return sum;
}

std::map<std::string, double> named(const PipelineFacts& facts) {
    std::map<std::string, double> names;
    for_each_counter([&](const char* name, std::uint64_t PipelineFacts::* counter) {
        names[name] = static_cast<double>(facts.*counter);
    });
    for (std::size_t i = 0; i < cause_count; ++i)
        names[std::string("slots_by_cause_") + cause_names[i]] = static_cast<double>(facts.by_cause[i]);
    return names;
}

}  // namespace tmaprobe::model::core
