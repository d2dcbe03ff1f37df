#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiments/kernel_run.h"
#include "memory/limits.h"
#include "memory/reserve.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Memory that a kernel will map, in its page mode.
struct MemoryNeed {
    memory::PageMode mode;
    std::uint64_t bytes = 0;
    std::optional<int> numa_node;
};

/// Of a point whose size and page mode are set; no bytes for a kernel without memory.
MemoryNeed need_of(const KernelRun& point);

/// The needs of a point in each of these page modes. Errors: as parse_page_mode.
Result<std::vector<MemoryNeed>> needs_of(const KernelRun& point, const std::vector<std::string>& modes);

/// Refuses before anything is measured what the machine cannot give: huge pages, memory, NUMA nodes. `at_once`: all of
/// it will be mapped at the same time, as by two processes; else page modes that do not fit together are measured one
/// after the other. Errors: unavailable, and the hint says which page modes work here at once; bad_usage for a NUMA
/// node that does not exist.
Result<> check_needs(const std::vector<MemoryNeed>& needs, bool at_once, const memory::SystemFiles& files = {});

/// Reserves the huge pages that the needs lack, and those that finding out the TLB's entries takes. Errors: those of
/// ReservedPages::reserve.
Result<memory::ReservedPages> reserve_for(const std::vector<MemoryNeed>& needs, bool at_once, const machine::Host& host,
                                          const memory::SystemFiles& files = {});

/// Gives the pages back, and puts into the record what was reserved, and a warning where giving back failed.
void give_back(memory::ReservedPages& reserved, record::Record& record);

}  // namespace tmaprobe::experiments
