#include "record/where.h"

namespace tmaprobe::record {

double sum_of(const CauseSlots& slots) {
    double sum = 0;
    for (const auto& [cause, count] : slots) sum += count;
    return sum;
}

double slots_of(const CauseSlots& slots, SlotCause cause) {
    const auto found = slots.find(text_of(cause));
    return found == slots.end() ? 0 : found->second;
}

}  // namespace tmaprobe::record
