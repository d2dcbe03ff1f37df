#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "experiments/clock_readings.h"
#include "machine/host.h"

namespace tmaprobe::experiments {

/// Adds what the clock tells of translation, of the caches, of how much of the last one this machine gets, and of
/// memory. `host`: complete (events::complete_geometry()), since CPUID's leaf 18h, which tells how many translations
/// the TLBs hold, is often left out of virtual machines. Errors: interrupted; those of timing.
Result<> calibrate_memory(ClockReader& reader, const machine::Host& host, const OnProgress& on_progress);

/// Some of these facts alone, in one to three seconds. "size.l3", what second and third level hold together here: none
/// if that is all that they have, or cannot be told, or a block of 192 MiB is more than a quarter of the memory that is
/// left, or the next three are told instead, where the third level keeps what was used last: "given.l3", what they hold
/// at best beside what others fill of it, "beyond.l3", which a load that they do not hold takes at least, and
/// "others.l3", events::CacheGeometry::others_fill_ns.
/// "translation.large_page_walk": none if large pages are not split. Errors: as above.
Result<std::vector<record::CalibratedFact>> memory_facts_here(ClockReader& reader, const machine::Host& host);

/// Reads "others.l3" once more, if it is among the facts: neighbours come and go, so its value is the median of the
/// last five readings. In some 0.1 s. Whether anything was read. Errors: as above.
Result<bool> read_others_again(const machine::Host& host, const std::function<bool()>& interrupted,
                               std::vector<record::CalibratedFact>& facts);

/// Translations of pages of 4 KiB that the TLB of loads holds at a level; 64 and 1024 where nothing tells.
double small_pages_held(int level, const machine::Host& host);

}  // namespace tmaprobe::experiments
