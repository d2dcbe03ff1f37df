#include "events/geometry.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "events/library.h"
#include "events/nearest.h"
#include "metrics/cpuid.h"

namespace tmaprobe::events {
namespace {

constexpr const char* descriptors_file = "cpuid-descriptors.json";

void add_caches(HostGeometry& geometry, const std::vector<CacheGeometry>& caches, const char* source) {
    for (const CacheGeometry& cache : caches)
        geometry.caches.push_back({cache.level, text_of(cache.kind), cache.size_bytes,
                                   static_cast<int>(cache.line_bytes), static_cast<int>(cache.ways),
                                   static_cast<int>(cache.shared_by), source});
}

void add_tlbs(HostGeometry& geometry, const std::vector<TlbGeometry>& tlbs, const char* source) {
    for (const TlbGeometry& tlb : tlbs)
        for (const std::uint64_t page_bytes : tlb.page_bytes)
            geometry.tlbs.push_back(
                {tlb.level, text_of(tlb.kind), page_bytes, static_cast<int>(tlb.entries), tlb.ways, source});
}

/// Without loading the CPU's table, which takes longer than all else here.
std::optional<std::string> folder_of(const Library& library, const std::string& cpu_id) {
    const auto rows = read_map(library);
    if (!rows) return std::nullopt;
    for (const MapRow& row : *rows)
        if (metrics::cpuid_matches(row.pattern, cpu_id)) return row.folder;
    return std::nullopt;
}

bool serves(const std::string& have, const std::string& wanted) {
    return have == wanted || have == "unified" || (wanted == "unified" && have == "data");
}

}  // namespace

Result<HostGeometry> read_descriptors(std::string_view json_text, const std::vector<std::uint8_t>& descriptors) {
    const auto meanings = TRY(parse_cpuid_descriptors(json_text, descriptors_file));
    HostGeometry geometry;
    for (const std::uint8_t descriptor : descriptors) {
        const auto meaning = meanings.find(fmt::format("0x{:02x}", descriptor));
        if (meaning == meanings.end()) continue;
        add_caches(geometry, meaning->second.caches, "cpuid 2");
        add_tlbs(geometry, meaning->second.tlbs, "cpuid 2");
    }
    return geometry;
}

HostGeometry host_geometry(const CpuGeometry& cpu) {
    HostGeometry geometry;
    add_caches(geometry, cpu.caches, "table");
    add_tlbs(geometry, cpu.tlbs, "table");
    for (const CacheGeometry& cache : cpu.caches)
        geometry.last_level_least_recent |= cache.level == 3 && cache.makes_room_among == 1;
    if (cpu.core) {
        geometry.load_bytes = cpu.core->load_bytes;
        geometry.memory_vector_bytes = cpu.core->memory_vector_bytes;
        geometry.reorder_buffer = static_cast<int>(cpu.core->reorder_buffer);
    }
    return geometry;
}

machine::Host with_geometry(machine::Host host, const HostGeometry& geometry) {
    if (host.caches.empty()) host.caches = geometry.caches;
    std::vector<machine::Tlb> lacking;
    for (const machine::Tlb& tlb : geometry.tlbs) {
        const bool known = std::any_of(host.tlbs.begin(), host.tlbs.end(), [&](const machine::Tlb& have) {
            return have.level == tlb.level && have.page_bytes == tlb.page_bytes && serves(have.kind, tlb.kind);
        });
        if (!known && tlb.entries > 0) lacking.push_back(tlb);
    }
    host.tlbs.insert(host.tlbs.end(), lacking.begin(), lacking.end());
    if (host.load_bytes == 0) host.load_bytes = geometry.load_bytes;
    if (host.memory_vector_bytes == 0) host.memory_vector_bytes = geometry.memory_vector_bytes;
    if (host.reorder_buffer == 0) host.reorder_buffer = geometry.reorder_buffer;
    host.last_level_least_recent |= geometry.last_level_least_recent;
    return host;
}

machine::Host complete_geometry(machine::Host host, const Library& library) {
    const auto unusable = [&](const char* file, const Error& error) {
        host.notes.push_back(fmt::format("{} cannot be used: {}", file, error.what));
    };
    if (!host.cpuid_descriptors.empty()) {
        // Without that file there is nothing to add.
        if (const auto content = read_data(library, descriptors_file)) {
            const auto geometry = read_descriptors(*content, host.cpuid_descriptors);
            if (geometry)
                host = with_geometry(std::move(host), *geometry);
            else
                unusable(descriptors_file, geometry.error());
        }
    }
    // A foreign tree has the vendors' events, not their geometry: the embedded one stands in.
    for (const Library& where : {library, Library{}}) {
        const auto named = folder_of(where, host.cpu_id);
        if (!named) continue;
        const auto cpu = read_cpu_geometry(where, folder_by_features({}, *named, host).value_or(*named));
        if (!cpu && cpu.error().code == ErrorCode::unavailable) continue;
        if (cpu)
            host = with_geometry(std::move(host), host_geometry(*cpu));
        else
            unusable("geometry.json", cpu.error());
        break;
    }
    return host;
}

}  // namespace tmaprobe::events
