#pragma once

#include <sys/types.h>

#include "process/region_page.h"
#include "record/regions.h"

namespace tmaprobe::counters {

/// The regions that a command has marked, with what its marks say of them, and without what they cost: how often, how
/// long, and which mistakes there are. By number. `command`: what is open in this process was open to its end.
record::Regions marked_regions(const process::RegionPage& page, pid_t command);

}  // namespace tmaprobe::counters
