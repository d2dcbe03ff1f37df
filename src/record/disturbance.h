#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"

namespace tmaprobe::record {

/// Clean repetitions below which nothing is compared, and statistics are over all.
inline constexpr int enough_clean = 3;

/// What kept a repetition from being the kernel's own time.
enum class DisturbanceCause {
    waited_for_cpu,         ///< the thread waited while others had its CPU
    partner_waited,         ///< another thread of the kernel did
    stolen,                 ///< the hypervisor gave the CPU to others
    interrupted,            ///< the CPU did something else without the thread waiting in a queue: interrupts, faults
    issue_slots_shared,     ///< another hyperthread of the core takes some of the slots
    reorder_buffer_halved,  ///< another hyperthread of the core is active, whatever it does
    clock_changed,          ///< the core clock moved meanwhile
};

/// One repetition's cause with its size: the share lost (of the repetition's time, of the core's slots, of the reorder
/// buffer), or the relative change of the clock, which may be negative.
struct Disturbance {
    DisturbanceCause cause = DisturbanceCause::waited_for_cpu;
    double size = 0;
};

/// All repetitions of one run with the same cause.
struct DisturbedBy {
    DisturbanceCause cause = DisturbanceCause::waited_for_cpu;
    int repetitions = 0;
    double median = 0, most = 0;  ///< of the sizes; `most` is the one furthest from 0
};

/// By cause, the most frequent first.
std::vector<DisturbedBy> count_causes(const std::vector<Disturbance>& disturbances);

/// "waited for the CPU: had it 3% of the time".
std::string describe(const Disturbance& disturbance);
/// "in 5 the thread waited for its CPU (had it 12% of the time, 3% at the least), in 2 ..."; empty for none.
std::string describe(const std::vector<DisturbedBy>& causes);

/// What to do about the most frequent cause, in one sentence; empty for none.
std::string remedy(const std::vector<DisturbedBy>& causes);

}  // namespace tmaprobe::record

template <>
struct tmaprobe::Names<tmaprobe::record::DisturbanceCause> {
    using enum record::DisturbanceCause;
    static constexpr std::array<std::pair<record::DisturbanceCause, std::string_view>, 7> values{
        {{waited_for_cpu, "waited_for_cpu"},
         {partner_waited, "partner_waited"},
         {stolen, "stolen"},
         {interrupted, "interrupted"},
         {issue_slots_shared, "issue_slots_shared"},
         {reorder_buffer_halved, "reorder_buffer_halved"},
         {clock_changed, "clock_changed"}}};
};
