#include "record/regions.h"

namespace tmaprobe::record {

std::optional<double> ns_per_iteration(const Region& region) {
    if (!region.totals || region.totals->iterations == 0 || region.totals->time_ns <= 0) return std::nullopt;
    return region.totals->time_ns / static_cast<double>(region.totals->iterations);
}

std::optional<double> instructions_per_iteration(const Region& region) {
    if (!region.totals || region.totals->iterations == 0 || !region.cost || !region.cost->instructions_per_entry)
        return std::nullopt;
    return *region.cost->instructions_per_entry * static_cast<double>(region.totals->entries) /
           static_cast<double>(region.totals->iterations);
}

std::optional<double> bytes_per_second(const Region& region) {
    if (!region.totals || region.totals->bytes == 0 || region.totals->time_ns <= 0) return std::nullopt;
    return static_cast<double>(region.totals->bytes) / region.totals->time_ns * 1e9;
}

}  // namespace tmaprobe::record
