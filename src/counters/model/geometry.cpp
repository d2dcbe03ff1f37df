#include "counters/model/geometry.h"

#include <nlohmann/json.hpp>
#include <regex>

#include "base/sizes.h"
#include "events/core_data.h"

namespace tmaprobe::counters::model {
namespace {

using nlohmann::json;

/// Reads members of one object; remembers the first that has the wrong type.
class Reader {
  public:
    Reader(const json& object, std::string file) : object_(object), file_(std::move(file)) {}

    template <class Number>
    void number(const char* key, Number& out) {
        const auto found = object_.find(key);
        if (found == object_.end()) return;
        if (!found->is_number() || found->get<double>() < 0)
            complain(key, "is no number");
        else
            out = found->get<Number>();
    }
    void flag(const char* key, bool& out) {
        const auto found = object_.find(key);
        if (found == object_.end()) return;
        if (!found->is_boolean())
            complain(key, "is neither true nor false");
        else
            out = found->get<bool>();
    }
    void text(const char* key, std::string& out) {
        const auto found = object_.find(key);
        if (found == object_.end()) return;
        if (!found->is_string())
            complain(key, "is no text");
        else
            out = found->get<std::string>();
    }
    const std::string& problem() const { return problem_; }

  private:
    void complain(const char* key, const char* what) {
        if (problem_.empty()) problem_ = file_ + ": '" + key + "' " + what;
    }
    const json& object_;
    std::string file_, problem_;
};

const json& member(const json& root, const char* key) {
    static const json nothing = json::object();
    const auto found = root.find(key);
    return found != root.end() && found->is_object() ? *found : nothing;
}

std::string read_core(const json& object, const std::string& file, const std::string& cpu_id, Geometry& out) {
    core::CoreParameters& core = out.core;
    Reader reader(object, file);
    reader.text("llvm_cpu", core.llvm_cpu);
    reader.text("borrowed_model", out.borrowed_model);
    reader.number("slot_width", core.slot_width);
    reader.number("op_cache_windows", core.op_cache_windows);
    reader.number("op_cache_window_bytes", core.op_cache_window_bytes);
    reader.number("op_cache_ways", core.op_cache_ways);
    reader.number("op_cache_width", core.op_cache_width);
    reader.number("decode_width", core.decode_width);
    reader.number("decode_bytes", core.decode_bytes);
    reader.number("micro_op_queue", core.micro_op_queue);
    reader.number("mispredict_penalty", core.mispredict_penalty);
    reader.number("recovery_cycles", core.recovery_cycles);
    reader.number("microcode_above", core.microcode_above);
    reader.flag("microcode_alone", core.microcode_alone);
    reader.number("microcode_penalty", core.microcode_penalty);
    reader.flag("fuses_compare_and_branch", core.fuses_compare_and_branch);
    reader.flag("fuses_memory_operand", core.fuses_memory_operand);
    reader.number("store_forward_cycles", core.store_forward_cycles);
    reader.number("store_forward_failed_cycles", core.store_forward_failed_cycles);
    reader.number("read_modify_write_cycles", core.read_modify_write_cycles);
    reader.flag("renames_memory", core.renames_memory);
    reader.flag("renames_memory_operands", core.renames_memory_operands);
    reader.number("length_changing_prefix_cycles", core.length_changing_prefix_cycles);
    reader.number("same_address_loads", core.same_address_loads);
    reader.number("lock_cycles", core.lock_cycles);
    reader.number("store_buffer", core.store_buffer);
    reader.number("load_buffer", core.load_buffer);
    reader.number("general_store_cycles", core.general_store_cycles);
    reader.number("stores_committed", core.stores_committed);
    reader.number("reorder_buffer", core.reorder_buffer);
    reader.number("retire_width", core.retire_width);
    reader.number("general_registers", core.general_registers);
    reader.number("vector_registers", core.vector_registers);
    reader.number("scheduler", core.scheduler);
    reader.number("split_line_cycles", core.split_line_cycles);
    reader.flag("binds_ports_at_renaming", core.binds_ports_at_renaming);
    reader.flag("eliminates_general_moves", core.eliminates_general_moves);
    reader.flag("eliminates_vector_moves", core.eliminates_vector_moves);
    reader.number("adds_constants_below", core.adds_constants_below);
    reader.flag("stack_engine", core.stack_engine);
    reader.flag("stack_engine_synchronizes", core.stack_engine_synchronizes);
    const json& by_id = member(object, "llvm_cpu_by_id");
    if (const auto own = by_id.find(cpu_id); own != by_id.end() && own->is_string()) core.llvm_cpu = own->get<std::string>();
    const json& width_by_id = member(object, "slot_width_by_id");
    if (const auto own = width_by_id.find(cpu_id); own != width_by_id.end() && own->is_number_unsigned())
        core.slot_width = own->get<unsigned>();
    if (reader.problem().empty() && (core.slot_width == 0 || core.decode_width == 0 || core.decode_bytes == 0 ||
                                     core.op_cache_width == 0 || core.op_cache_window_bytes == 0 || core.micro_op_queue == 0))
        return file + ": a width of the core is 0";
    if (!reader.problem().empty()) return reader.problem();
    return {};
}

std::string read_caches(const json& list, const std::string& file, Geometry& out) {
    for (const json& entry : list) {
        std::string kind, size;
        int level = 0;
        CacheGeometry cache;
        if (!entry.is_object()) return file + ": a cache is no object";
        Reader reader(entry, file);
        reader.number("level", level);
        reader.text("kind", kind);
        reader.text("size", size);
        reader.number("ways", cache.ways);
        reader.number("latency_cycles", cache.latency);
        reader.flag("victim", cache.victim);
        reader.flag("latency_estimated", cache.latency_estimated);
        if (!reader.problem().empty()) return reader.problem();
        const auto bytes = parse_size(size);
        if (!bytes || cache.ways == 0) return file + ": a cache has no size or ways";
        cache.size_bytes = *bytes;
        if (level == 1 && kind == "data") out.l1_data = cache;
        if (level == 1 && kind == "instruction") out.l1_code = cache;
        if (level == 2) out.l2 = cache;
        if (level == 3) out.l3 = cache;
    }
    return {};
}

std::string read_tlbs(const json& list, const std::string& file, Geometry& out) {
    for (const json& entry : list) {
        if (!entry.is_object() || !entry.contains("pages") || !entry["pages"].is_array()) return file + ": a TLB has no list 'pages'";
        TlbGeometry tlb;
        std::string kind;
        Reader reader(entry, file);
        reader.number("level", tlb.level);
        reader.text("kind", kind);
        reader.number("entries", tlb.entries);
        if (!reader.problem().empty()) return reader.problem();
        tlb.ways = entry.value("ways", -1);
        tlb.data = kind != "instruction";
        tlb.code = kind != "data";
        for (const json& page : entry["pages"]) {
            const auto bytes = parse_size(page.is_string() ? page.get<std::string>() : "");
            if (!bytes) return file + ": a TLB has a page size that is none";
            tlb.page_bytes.push_back(*bytes);
        }
        out.tlbs.push_back(std::move(tlb));
    }
    return {};
}

/// Two hexadecimal digits a byte; empty when it is not that.
std::vector<std::uint8_t> read_bytes(const std::string& text) {
    std::vector<std::uint8_t> bytes;
    if (text.size() % 2 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return bytes;
    for (std::size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

std::string read_known_wrong(const json& list, const std::string& file, Geometry& out) {
    for (const json& entry : list) {
        KnownWrong wrong;
        if (!entry.is_object() || !entry.contains("bytes") || !entry["bytes"].is_array()) return file + ": 'known_wrong' has no list 'bytes'";
        Reader reader(entry, file);
        reader.text("what", wrong.what);
        for (const json& sequence : entry["bytes"]) {
            wrong.bytes.push_back(read_bytes(sequence.is_string() ? sequence.get<std::string>() : ""));
            if (wrong.bytes.back().empty()) return file + ": 'known_wrong' has bytes that are none";
        }
        if (!reader.problem().empty()) return reader.problem();
        out.known_wrong.push_back(std::move(wrong));
    }
    return {};
}

std::string read_corrections(const json& list, const std::string& file, Geometry& out) {
    for (const json& entry : list) {
        core::Correction correction;
        if (!entry.is_object() || entry.contains("instructions") == entry.contains("bytes"))
            return file + ": 'corrections' needs either 'bytes' or 'instructions' in each entry";
        if (entry.contains("bytes") && !entry["bytes"].is_array()) return file + ": 'corrections' has no list 'bytes'";
        for (const json& sequence : entry.value("bytes", json::array())) {
            correction.bytes.push_back(read_bytes(sequence.is_string() ? sequence.get<std::string>() : ""));
            if (correction.bytes.back().empty()) return file + ": 'corrections' has bytes that are none";
        }
        Reader reader(entry, file);
        reader.text("instructions", correction.instructions);
        const auto number = [&](const char* key, std::optional<unsigned>& figure) {
            if (!entry.contains(key)) return;
            reader.number(key, figure.emplace());
        };
        number("latency", correction.latency);
        number("micro_ops", correction.micro_ops);
        number("general_source_cycles", correction.general_source_cycles);
        number("fetch_cycles", correction.fetch_cycles);
        std::string when;
        reader.text("when", when);
        if (when == "scaled index")
            correction.when = core::Correction::When::scaled_index;
        else if (when == "relative address")
            correction.when = core::Correction::When::relative;
        else if (!when.empty())
            return file + ": a correction's 'when' is neither 'scaled index' nor 'relative address'";
        if (entry.contains("reads_destination")) reader.flag("reads_destination", correction.reads_destination.emplace());
        if (entry.contains("ports")) {
            correction.ports.emplace();
            for (const auto& [resource, cycles] : entry["ports"].items()) {
                if (!cycles.is_number_unsigned()) return file + ": a correction's port '" + resource + "' has no number of cycles";
                (*correction.ports)[resource] = cycles.get<unsigned>();
            }
        }
        if (!reader.problem().empty()) return reader.problem();
        try {
            (void)std::regex(correction.instructions);
        } catch (const std::regex_error&) {
            return file + ": '" + correction.instructions + "' is no regular expression";
        }
        out.core.corrections.push_back(std::move(correction));
    }
    return {};
}

std::string read_rest(const json& root, const std::string& file, Geometry& out) {
    Reader translation(member(root, "translation"), file);
    translation.number("l2_hit_cycles", out.translation.l2_hit_cycles);
    translation.number("walkers", out.translation.walkers);
    translation.number("walk_step_cycles", out.translation.walk_step_cycles);
    translation.number("upper_level_entries", out.translation.upper_level_entries);
    translation.number("walk_starts_at_level", out.translation.walk_starts_at_level);
    Reader prefetchers(member(root, "prefetchers"), file);
    prefetchers.flag("next_line", out.prefetchers.next_line);
    prefetchers.flag("cross_pages", out.prefetchers.cross_pages);
    prefetchers.number("streams", out.prefetchers.streams);
    prefetchers.number("distance_lines", out.prefetchers.distance_lines);
    Reader memory(member(root, "memory"), file);
    memory.number("latency_ns", out.memory.latency_ns);
    memory.number("latency_low_ns", out.memory.latency_low_ns);
    memory.number("latency_high_ns", out.memory.latency_high_ns);
    memory.number("core_bandwidth_bytes_per_second", out.memory.bandwidth_bytes_per_second);
    memory.number("outstanding_l1_misses", out.memory.outstanding_l1_misses);
    memory.number("outstanding_l2_misses", out.memory.outstanding_l2_misses);
    Reader top(root, file);
    top.number("frequency_hz", out.frequency_hz);
    for (const Reader* reader : {&translation, &prefetchers, &memory, &top})
        if (!reader->problem().empty()) return reader->problem();
    if (out.frequency_hz <= 0 || out.memory.bandwidth_bytes_per_second <= 0) return file + ": frequency or bandwidth is 0";
    return {};
}

}  // namespace

Result<Geometry> parse_geometry(const std::string& text, const std::string& file, const std::string& cpu_id) {
    const json root = json::parse(text, nullptr, false);
    if (root.is_discarded() || !root.is_object()) return fail(ErrorCode::bad_input, file + ": not a JSON object");
    Geometry geometry;
    if (!root.contains("core")) return fail(ErrorCode::unavailable, file + " describes no core");
    std::string problem = read_core(member(root, "core"), file, cpu_id, geometry);
    const json empty = json::array();
    if (problem.empty()) problem = read_caches(root.contains("caches") && root["caches"].is_array() ? root["caches"] : empty, file, geometry);
    if (problem.empty()) problem = read_tlbs(root.contains("tlbs") && root["tlbs"].is_array() ? root["tlbs"] : empty, file, geometry);
    if (problem.empty()) problem = read_rest(root, file, geometry);
    if (problem.empty()) problem = read_known_wrong(root.contains("known_wrong") && root["known_wrong"].is_array() ? root["known_wrong"] : empty, file, geometry);
    if (problem.empty()) problem = read_corrections(root.value("corrections", empty), file, geometry);
    if (!problem.empty()) return fail(ErrorCode::bad_input, problem);
    geometry.core.load_cycles = geometry.l1_data.latency;
    if (!geometry.l1_data.size_bytes || !geometry.l2.size_bytes) return fail(ErrorCode::bad_input, file + ": no first- or second-level cache");
    return geometry;
}

Result<Geometry> load_geometry(const events::Library& library, const events::Table& table) {
    const std::string file = table.folder + "/geometry.json";
    auto text = events::read_core_data(library, table.folder, "geometry.json");
    if (!text && text.error().code != ErrorCode::unavailable) return pass_on(text);
    if (!text) return fail(ErrorCode::unavailable, "the model does not cover " + table.folder, text.error().hint);
    return parse_geometry(*text, file, table.cpu_id);
}

}  // namespace tmaprobe::counters::model
