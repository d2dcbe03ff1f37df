#include "events/geometry.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include <fmt/format.h>

#include "base/sizes.h"
#include "events/core_data.h"
#include "events/library.h"
#include "metrics/cpuid.h"

namespace tmaprobe::events {
namespace {

using nlohmann::json;

Result<std::uint64_t> size_of(const json& entry, const char* exact, const char* named) {
    if (entry.contains(exact) && entry[exact].is_number_unsigned()) return entry[exact].get<std::uint64_t>();
    if (entry.contains(named) && entry[named].is_string()) return parse_size(entry[named].get<std::string>());
    return fail(ErrorCode::bad_input, fmt::format("an entry has neither '{}' nor '{}'", exact, named));
}

int number(const json& entry, const char* key, int missing) {
    return entry.contains(key) && entry[key].is_number_integer() ? entry[key].get<int>() : missing;
}

std::string text(const json& entry, const char* key) {
    return entry.contains(key) && entry[key].is_string() ? entry[key].get<std::string>() : std::string();
}

Result<machine::Cache> read_cache(const json& entry, const std::string& source) {
    const auto bytes = size_of(entry, "size_bytes", "size");
    if (!bytes) return pass_on(bytes);
    machine::Cache cache;
    cache.level = number(entry, "level", 0);
    cache.kind = text(entry, "kind");
    cache.size_bytes = *bytes;
    cache.line_bytes = number(entry, "line_bytes", 64);
    cache.ways = number(entry, "ways", 0);
    cache.shared_by = number(entry, "shared_by", 1);
    cache.source = source;
    return cache;
}

/// One entry may serve several page sizes ("pages": ["4k", "2m"]) or one ("page_bytes": 4096).
Result<std::vector<machine::Tlb>> read_tlb(const json& entry, const std::string& source) {
    std::vector<std::uint64_t> pages;
    if (entry.contains("pages") && entry["pages"].is_array()) {
        for (const json& page : entry["pages"]) {
            const auto bytes = parse_size(page.is_string() ? page.get<std::string>() : std::string());
            if (!bytes) return pass_on(bytes);
            pages.push_back(*bytes);
        }
    } else {
        const auto bytes = size_of(entry, "page_bytes", "page");
        if (!bytes) return pass_on(bytes);
        pages.push_back(*bytes);
    }
    std::vector<machine::Tlb> tlbs;
    for (const std::uint64_t page : pages)
        tlbs.push_back({number(entry, "level", 0), text(entry, "kind"), page, number(entry, "entries", 0), number(entry, "ways", 0), source});
    return tlbs;
}

Result<> add_entries(Geometry& geometry, const json& object, const std::string& source) {
    for (const char* key : {"caches", "tlbs"}) {
        if (!object.contains(key)) continue;
        if (!object[key].is_array()) return fail(ErrorCode::bad_input, fmt::format("'{}' is no list", key));
        for (const json& entry : object[key]) {
            if (!entry.is_object()) return fail(ErrorCode::bad_input, fmt::format("an entry of '{}' is no object", key));
            if (std::string_view(key) == "caches") {
                auto cache = read_cache(entry, source);
                if (!cache) return pass_on(cache);
                geometry.caches.push_back(std::move(*cache));
            } else {
                auto tlbs = read_tlb(entry, source);
                if (!tlbs) return pass_on(tlbs);
                geometry.tlbs.insert(geometry.tlbs.end(), tlbs->begin(), tlbs->end());
            }
        }
    }
    return {};
}

Result<json> parse(std::string_view json_text) {
    json parsed = json::parse(json_text, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_object()) return fail(ErrorCode::bad_input, "it is not a JSON object");
    return parsed;
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

Result<Geometry> read_descriptors(std::string_view json_text, const std::vector<std::uint8_t>& descriptors) {
    const auto file = parse(json_text);
    if (!file) return pass_on(file);
    if (!file->contains("descriptors") || !(*file)["descriptors"].is_object())
        return fail(ErrorCode::bad_input, "'descriptors' is missing");
    const json& meanings = (*file)["descriptors"];
    Geometry geometry;
    for (const std::uint8_t descriptor : descriptors) {
        const auto meaning = meanings.find(fmt::format("0x{:02x}", descriptor));
        if (meaning == meanings.end()) continue;
        if (!meaning->is_object()) return fail(ErrorCode::bad_input, fmt::format("descriptor {:02x} is no object", descriptor));
        if (const auto added = add_entries(geometry, *meaning, "cpuid 2"); !added) return pass_on(added);
    }
    return geometry;
}

Result<Geometry> read_geometry(std::string_view json_text) {
    const auto file = parse(json_text);
    if (!file) return pass_on(file);
    Geometry geometry;
    if (const auto added = add_entries(geometry, *file, "table"); !added) return pass_on(added);
    if (file->contains("core") && (*file)["core"].is_object()) {
        geometry.load_bytes = number((*file)["core"], "load_bytes", 0);
        geometry.memory_vector_bytes = number((*file)["core"], "memory_vector_bytes", 0);
        geometry.reorder_buffer = number((*file)["core"], "reorder_buffer", 0);
    }
    return geometry;
}

machine::Host with_geometry(machine::Host host, const Geometry& geometry) {
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
    return host;
}

machine::Host complete_geometry(machine::Host host, const Library& library) {
    const auto complete = [&](const char* file, const Result<std::string>& content, auto read) {
        if (!content) return;  // no such file: nothing to add
        const auto geometry = read(*content);
        if (geometry)
            host = with_geometry(std::move(host), *geometry);
        else
            host.notes.push_back(fmt::format("{} cannot be used: {}", file, geometry.error().what));
    };
    if (!host.cpuid_descriptors.empty())
        complete("cpuid-descriptors.json", read_data(library, "cpuid-descriptors.json"),
                 [&](const std::string& content) { return read_descriptors(content, host.cpuid_descriptors); });
    // A foreign tree has the vendors' events, not their geometry: the embedded one stands in.
    for (const Library& where : {library, Library{}}) {
        const auto folder = folder_of(where, host.cpu_id);
        if (!folder) continue;
        const auto content = read_core_data(where, *folder, "geometry.json");
        if (!content && content.error().code == ErrorCode::unavailable) continue;
        if (!content) host.notes.push_back(fmt::format("geometry.json cannot be used: {}", content.error().what));
        complete("geometry.json", content, read_geometry);
        break;
    }
    return host;
}

}  // namespace tmaprobe::events
