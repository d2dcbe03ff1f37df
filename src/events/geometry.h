#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/cpu_geometry.h"
#include "events/table.h"
#include "machine/host.h"

namespace tmaprobe::events {

/// What a host can be completed with: caches and TLBs in the machine's terms.
struct HostGeometry {
    std::vector<machine::Cache> caches;
    std::vector<machine::Tlb> tlbs;
    int load_bytes = 0;           ///< widest load that the core does in one piece; 0: not known
    int memory_vector_bytes = 0;  ///< vectors that move most bytes between core and memory; 0: not known
    int reorder_buffer = 0;       ///< entries; 0: not known
    bool last_level_least_recent = false;
};

/// What the descriptor bytes of CPUID leaf 2 mean by the text of cpuid-descriptors.json; bytes that it does not hold
/// are passed over. Errors: bad_input for a file that is not what it should be.
Result<HostGeometry> read_descriptors(std::string_view json_text, const std::vector<std::uint8_t>& descriptors);

/// What a folder's geometry.json says, source "table"; a TLB for each page size.
HostGeometry host_geometry(const CpuGeometry& cpu);

/// The host with what it lacks taken from the geometry. A TLB is lacking when the host knows none of the
/// same level and page size that serves the same accesses; caches are lacking when it knows none at all. How
/// wide a load is, and which vectors are fast in memory, no processor says.
machine::Host with_geometry(machine::Host host, const HostGeometry& geometry);

/// Completes what the processor does not say of itself: first from the descriptors of leaf 2, then from
/// the table of its CPU (source "table"), which matters in virtual machines: the core that its features name, where
/// these contradict its id. A file that is missing or broken leaves the host as it is and adds a note.
machine::Host complete_geometry(machine::Host host, const Library& library);

}  // namespace tmaprobe::events
