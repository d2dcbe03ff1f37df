#include "events/cpu_geometry.h"

#include <algorithm>

#include "base/json/read_text.h"
#include "base/sizes.h"
#include "events/core_data.h"

namespace tmaprobe::events {
namespace {

/// As it stands in a file: "48K", "2m".
struct Size {
    std::uint64_t bytes = 0;
};
/// As it stands in a file: "f20f".
struct HexBytes {
    std::vector<std::uint8_t> bytes;
};
struct CpuidDescriptors {
    std::map<std::string, CpuidDescriptor> descriptors;
};

constexpr std::string_view hex_digits = "0123456789abcdef";

std::vector<Size> sizes_of(const TlbGeometry& tlb) {
    std::vector<Size> sizes;
    for (const std::uint64_t bytes : tlb.page_bytes) sizes.push_back({bytes});
    return sizes;
}
void set_pages(TlbGeometry& tlb, const std::vector<Size>& sizes) {
    tlb.page_bytes.clear();
    for (const Size& size : sizes) tlb.page_bytes.push_back(size.bytes);
}

template <class Struct>
std::vector<HexBytes> hex_of(const Struct& instructions) {
    std::vector<HexBytes> sequences;
    for (const auto& bytes : instructions.bytes) sequences.push_back({bytes});
    return sequences;
}
template <class Struct>
void set_bytes(Struct& instructions, const std::vector<HexBytes>& sequences) {
    instructions.bytes.clear();
    for (const HexBytes& sequence : sequences) instructions.bytes.push_back(sequence.bytes);
}

}  // namespace
}  // namespace tmaprobe::events

namespace tmaprobe::json {

using namespace events;

template <>
struct Spelling<Size> {
    static constexpr std::string_view kind = "a size such as 48K";
    static std::string to_text(const Size& size) { return format_size(size.bytes); }
    static std::optional<Size> from_text(std::string_view text) {
        const auto bytes = parse_size(text);
        return bytes ? std::optional(Size{*bytes}) : std::nullopt;
    }
};

template <>
struct Spelling<HexBytes> {
    static constexpr std::string_view kind = "bytes of two hexadecimal digits each";
    static std::string to_text(const HexBytes& sequence) {
        std::string text;
        for (const std::uint8_t byte : sequence.bytes) text += {hex_digits[byte >> 4], hex_digits[byte & 15]};
        return text;
    }
    static std::optional<HexBytes> from_text(std::string_view text) {
        if (text.empty() || text.size() % 2) return std::nullopt;
        HexBytes sequence;
        for (std::size_t i = 0; i < text.size(); i += 2) {
            const auto high = hex_digits.find(text[i]), low = hex_digits.find(text[i + 1]);
            if (high == hex_digits.npos || low == hex_digits.npos) return std::nullopt;
            sequence.bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
        }
        return sequence;
    }
};

template <>
struct Description<CacheGeometry> {
    using S = CacheGeometry;
    static constexpr auto fields = std::make_tuple(
        field("level", &S::level).at_least(1), field("kind", &S::kind),
        property(
            "size", [](const S& cache) { return Size{cache.size_bytes}; },
            [](S& cache, const Size& size) { cache.size_bytes = size.bytes; }, "bytes"),
        added("line_bytes", &S::line_bytes).at_least(1), added("ways", &S::ways),
        added("shared_by", &S::shared_by).at_least(1), added("latency_cycles", &S::latency),
        added("latency_estimated", &S::latency_estimated), added("victim", &S::victim),
        added("makes_room_among", &S::makes_room_among), added("line_cycles", &S::line_cycles),
        added("write_back_cycles", &S::write_back_cycles),
        added("split_load_cycles", &S::split_load_cycles).at_least(0), added("banks", &S::banks).at_least(1),
        added("bank_cycles", &S::bank_cycles), added("bank_fill_turns", &S::bank_fill_turns).at_least(1),
        added("slices", &S::slices).at_least(1), added("slice_spread_cycles", &S::slice_spread_cycles));
    static void check(const Node& node, S& cache) {
        if (!(cache.line_cycles >= 0 && cache.write_back_cycles >= 0 && cache.bank_cycles >= 0))
            node.complain("has cycles of a line that are not 0 or above");
        if (cache.slice_spread_cycles / 2 > cache.latency)
            node.complain("has slices whose lines come before they are asked for");
        if (cache.ways > 0 && cache.makes_room_among > cache.ways)
            node.complain("makes room among more lines than a set of it has");
    }
};

template <>
struct Description<TlbGeometry> {
    using S = TlbGeometry;
    static constexpr auto fields = std::make_tuple(field("level", &S::level).at_least(1), field("kind", &S::kind),
                                                   property("pages", sizes_of, set_pages, "page sizes that it holds"),
                                                   field("entries", &S::entries), added("ways", &S::ways).at_least(-1));
};

template <>
struct Description<TranslationGeometry> {
    using S = TranslationGeometry;
    static constexpr auto fields = std::make_tuple(
        added("l2_hit_cycles", &S::l2_hit_cycles), added("l2_hit_every", &S::l2_hit_every).at_least(0),
        added("walkers", &S::walkers), added("walk_step_cycles", &S::walk_step_cycles),
        added("nested_walk_step_cycles", &S::nested_walk_step_cycles), added("nested_walkers", &S::nested_walkers),
        added("upper_level_entries", &S::upper_level_entries), added("walk_starts_at_level", &S::walk_starts_at_level));
};

template <>
struct Description<PrefetcherGeometry> {
    using S = PrefetcherGeometry;
    static constexpr auto fields = std::make_tuple(
        added("next_line", &S::next_line), added("streams", &S::streams), added("distance_lines", &S::distance_lines),
        added("cross_pages", &S::cross_pages), added("l1_distance_lines", &S::l1_distance_lines),
        added("held_lines_to_stay", &S::held_lines_to_stay).at_least(0),
        added("region_lines_before", &S::region_lines_before), added("region_lines_after", &S::region_lines_after),
        added("region_cycles", &S::region_cycles));
    static void check(const Node& node, S& how) {
        if (std::max(how.region_lines_before, how.region_lines_after) > S::most_region_lines)
            node.complain("has more lines around one that misses than 15 before it and 15 after");
    }
};

template <>
struct Description<MemoryGeometry> {
    using S = MemoryGeometry;
    static constexpr auto fields =
        std::make_tuple(added("latency_ns", &S::latency_ns), added("latency_low_ns", &S::latency_low_ns),
                        added("latency_high_ns", &S::latency_high_ns),
                        added("core_bandwidth_bytes_per_second", &S::bandwidth_bytes_per_second),
                        added("outstanding_l1_misses", &S::outstanding_l1_misses),
                        added("outstanding_l2_misses", &S::outstanding_l2_misses));
    /// Written so that NaN, which is what a null reads as, is refused too.
    static void check(const Node& node, S& memory) {
        if (!(memory.latency_ns > 0 && memory.latency_low_ns >= 0 && memory.latency_high_ns >= 0))
            node.complain("has a latency that is not above 0");
        if (!(memory.bandwidth_bytes_per_second > 0)) node.complain("has a bandwidth that is not above 0");
    }
};

template <>
struct Description<KnownWrong> {
    using S = KnownWrong;
    static constexpr auto fields =
        std::make_tuple(property("bytes", hex_of<S>, set_bytes<S>, "of their encodings"), added("what", &S::what));
};

template <>
struct Description<Correction> {
    using S = Correction;
    static constexpr auto fields = std::make_tuple(
        property("bytes", hex_of<S>, set_bytes<S>, "of their encodings", Presence::optional),
        optional("instructions", &S::instructions), optional("latency", &S::latency),
        optional("sooner_among_alike", &S::sooner_among_alike), optional("micro_ops", &S::micro_ops),
        optional("ports", &S::ports), optional("store_ports", &S::store_ports),
        optional("general_source_cycles", &S::general_source_cycles), optional("fetch_cycles", &S::fetch_cycles),
        optional("when", &S::when), optional("reads_destination", &S::reads_destination));
    static void check(const Node& node, S&) {
        if (!node.has("bytes") && !node.has("instructions")) node.complain("needs 'bytes' or 'instructions'");
    }
};

template <>
struct Description<PortScheduler> {
    using S = PortScheduler;
    static constexpr auto fields = std::make_tuple(field("ports", &S::ports), field("entries", &S::entries).at_least(1),
                                                   added("takes_one", &S::takes_one));
};

template <>
struct Description<PartStores> {
    using S = PartStores;
    static constexpr auto fields =
        std::make_tuple(field("unit_bytes", &S::unit_bytes).at_least(1), field("failed_cycles", &S::failed_cycles),
                        field("again_cycles", &S::again_cycles), field("again_within", &S::again_within));
};

template <>
struct Description<PortBinding::Choice> {
    using S = PortBinding::Choice;
    static constexpr auto fields = std::make_tuple(field("ports", &S::ports), field("places", &S::places));
    static void check(const Node& node, S& choice) {
        if (choice.places.empty() || std::ranges::max(choice.places) >= choice.ports)
            node.complain("has a place that these ports do not have");
    }
};

template <>
struct Description<PortBinding> {
    using S = PortBinding;
    static constexpr auto fields =
        std::make_tuple(field("counts_age_cycles", &S::counts_age_cycles).at_least(1),
                        field("difference", &S::difference).at_least(1), field("choices", &S::choices));
    static void check(const Node& node, S& binding) {
        if (binding.counts_age_cycles > 7) node.complain("has counts that are older than 7 cycles");
    }
};

template <>
struct Description<BranchForetelling> {
    using S = BranchForetelling;
    static constexpr auto fields = std::make_tuple(
        added("taken_cycles", &S::taken_cycles), added("taken_backward_cycles", &S::taken_backward_cycles),
        added("fetches_past_forward", &S::fetches_past_forward), added("indirect_cycles", &S::indirect_cycles),
        added("call_cycles", &S::call_cycles), added("return_cycles", &S::return_cycles),
        added("first_level_targets", &S::first_level_targets),
        added("first_level_line_targets", &S::first_level_line_targets),
        added("second_level_targets", &S::second_level_targets),
        added("second_level_cycles", &S::second_level_cycles).at_least(0),
        added("second_level_least_cycles", &S::second_level_least_cycles).at_least(0),
        added("second_in_line_later", &S::second_in_line_later), added("calls_by_line", &S::calls_by_line),
        added("unknown_target_cycles", &S::unknown_target_cycles), added("near_target_bits", &S::near_target_bits),
        added("far_target_cycles", &S::far_target_cycles),
        added("direction_entries", &S::direction_entries).at_least(2),
        added("direction_half_bit", &S::direction_half_bit),
        added("direction_counter_bits", &S::direction_counter_bits),
        added("target_entries", &S::target_entries).at_least(2), added("quick_contexts", &S::quick_contexts),
        added("quick_taken_branches", &S::quick_taken_branches), added("quick_length", &S::quick_length),
        added("quick_counter_bits", &S::quick_counter_bits).at_least(1), added("line_cycles", &S::line_cycles),
        added("late_direction_cycles", &S::late_direction_cycles), added("late_target_cycles", &S::late_target_cycles),
        added("first_guesses", &S::first_guesses), added("confirmed_target_cycles", &S::confirmed_target_cycles),
        added("late_hidden_by_call", &S::late_hidden_by_call), added("lines_ahead", &S::lines_ahead));
    static void check(const Node& node, S& foretelling) {
        for (const double cycles :
             {foretelling.taken_cycles, foretelling.indirect_cycles, foretelling.call_cycles, foretelling.return_cycles,
              foretelling.taken_backward_cycles, foretelling.line_cycles, foretelling.late_direction_cycles,
              foretelling.late_target_cycles, foretelling.confirmed_target_cycles, foretelling.late_hidden_by_call})
            if (!(cycles >= 0)) node.complain("has a branch of less than 0 cycles");
        if (!std::has_single_bit(foretelling.direction_entries) || !std::has_single_bit(foretelling.target_entries))
            node.complain("has tables of no power of 2");
        if (foretelling.first_guesses == 1 || std::popcount(foretelling.first_guesses) > 1)
            node.complain("keeps one first guess, or of no power of 2");
        if (foretelling.direction_counter_bits < 2 || foretelling.direction_counter_bits > 3)
            node.complain("has counters of directions of neither 2 nor 3 bits");
        if (foretelling.quick_taken_branches > 15)
            node.complain("has a first level that looks back upon more than 15 branches");
        if (foretelling.quick_counter_bits > 8) node.complain("has counters of more than 8 bits");
        if (foretelling.near_target_bits >= 64) node.complain("has addresses of 64 near bits or more");
    }
};

template <>
struct Description<LoopStreaming> {
    using S = LoopStreaming;
    static constexpr auto fields = std::make_tuple(
        field("blocks", &S::blocks).at_least(1), field("line_branches", &S::line_branches).at_least(1),
        field("after_branches", &S::after_branches), field("after_rounds", &S::after_rounds).at_least(1),
        field("branches_a_cycle", &S::branches_a_cycle).at_least(1));
    static void check(const Node& node, S& streaming) {
        if (streaming.blocks > S::most_blocks) node.complain("has rounds of more than 32 blocks");
    }
};

template <>
struct Description<CoreGeometry> {
    using S = CoreGeometry;
    static constexpr auto fields = std::make_tuple(
        optional("llvm_cpu", &S::llvm_cpu), optional("borrowed_model", &S::borrowed_model),
        added("slot_width", &S::slot_width).at_least(1), added("op_cache_windows", &S::op_cache_windows),
        added("op_cache_window_bytes", &S::op_cache_window_bytes).at_least(1),
        added("op_cache_ways", &S::op_cache_ways), added("op_cache_width", &S::op_cache_width).at_least(1),
        added("op_cache_entry_instructions", &S::op_cache_entry_instructions),
        added("op_cache_makes_room_among", &S::op_cache_makes_room_among).at_least(1),
        added("op_cache_window_of_end", &S::op_cache_window_of_end),
        added("op_cache_one_window", &S::op_cache_one_window), added("op_cache_loop_rounds", &S::op_cache_loop_rounds),
        added("decoder_switch_cycles", &S::decoder_switch_cycles).at_least(0),
        added("op_cache_window_slots", &S::op_cache_window_slots),
        added("op_cache_straight_windows", &S::op_cache_straight_windows),
        added("dense_decode_bytes", &S::dense_decode_bytes).at_least(1),
        added("decode_width", &S::decode_width).at_least(1), added("decode_bytes", &S::decode_bytes).at_least(1),
        added("decodes_past_taken", &S::decodes_past_taken), added("missed_line_bytes", &S::missed_line_bytes),
        added("missed_line_cycles", &S::missed_line_cycles).at_least(0), added("foretelling", &S::foretelling),
        added("loop_streaming", &S::loop_streaming), added("micro_op_queue", &S::micro_op_queue).at_least(1),
        added("mispredict_penalty", &S::mispredict_penalty), added("indirect_penalty", &S::indirect_penalty),
        added("history_bits", &S::history_bits), added("history_first_bit", &S::history_first_bit),
        added("history_target_bits", &S::history_target_bits), optional("target_history", &S::target_history),
        optional("direction_history", &S::direction_history), optional("conditional_history", &S::conditional_history),
        added("recent_branches", &S::recent_branches), added("recent_target_bits", &S::recent_target_bits),
        added("recent_return_bits", &S::recent_return_bits), added("recent_place_bits", &S::recent_place_bits),
        added("recovery_cycles", &S::recovery_cycles), added("microcode_above", &S::microcode_above),
        added("microcode_alone", &S::microcode_alone), added("microcode_penalty", &S::microcode_penalty),
        added("repeated_string_cycles", &S::repeated_string_cycles),
        added("longer_string_cycles", &S::longer_string_cycles),
        added("fuses_compare_and_branch", &S::fuses_compare_and_branch),
        added("fuses_memory_compare", &S::fuses_memory_compare), added("fuses_by_condition", &S::fuses_by_condition),
        added("fuses_memory_operand", &S::fuses_memory_operand),
        added("store_forward_cycles", &S::store_forward_cycles),
        added("vector_forward_cycles", &S::vector_forward_cycles),
        added("general_to_vector_forward_cycles", &S::general_to_vector_forward_cycles),
        added("store_forward_failed_cycles", &S::store_forward_failed_cycles),
        added("vector_failed_cycles", &S::vector_failed_cycles), added("failed_again_cycles", &S::failed_again_cycles),
        added("store_leaves_after_cycles", &S::store_leaves_after_cycles),
        added("aliased_load_cycles", &S::aliased_load_cycles), added("renames_memory", &S::renames_memory),
        added("renaming_paths", &S::renaming_paths), added("renaming_branches", &S::renaming_branches).at_least(2),
        added("renames_memory_operands", &S::renames_memory_operands),
        added("renames_memory_by_registers", &S::renames_memory_by_registers),
        added("renames_only_stack_memory", &S::renames_only_stack_memory),
        added("foretold_forwards", &S::foretold_forwards),
        added("renames_read_modify_write", &S::renames_read_modify_write),
        added("length_changing_prefix_cycles", &S::length_changing_prefix_cycles),
        added("same_address_loads", &S::same_address_loads),
        added("issues_missed_loads_again", &S::issues_missed_loads_again),
        added("lines_take_load_ports", &S::lines_take_load_ports), added("in_vain_cycles", &S::in_vain_cycles),
        added("read_modify_write_cycles", &S::read_modify_write_cycles), added("lock_cycles", &S::lock_cycles),
        added("store_buffer", &S::store_buffer), added("load_buffer", &S::load_buffer),
        added("general_store_cycles", &S::general_store_cycles), added("stores_committed", &S::stores_committed),
        added("store_block_bytes", &S::store_block_bytes).at_least(1), added("part_stores", &S::part_stores),
        added("reorder_buffer", &S::reorder_buffer), added("retire_width", &S::retire_width),
        added("room_cycles", &S::room_cycles), added("general_registers", &S::general_registers),
        added("vector_registers", &S::vector_registers), added("scheduler", &S::scheduler),
        added("scheduler_release_cycles", &S::scheduler_release_cycles), optional("schedulers", &S::schedulers),
        optional("units", &S::units), added("split_line_cycles", &S::split_line_cycles),
        added("binds_ports_at_renaming", &S::binds_ports_at_renaming), added("port_binding", &S::port_binding),
        added("eliminates_general_moves", &S::eliminates_general_moves),
        added("eliminates_vector_moves", &S::eliminates_vector_moves),
        added("eliminates_zero_extension", &S::eliminates_zero_extension),
        added("adds_constants_below", &S::adds_constants_below), added("stack_engine", &S::stack_engine),
        added("stack_engine_synchronizes", &S::stack_engine_synchronizes),
        added("stack_synchronization_cycles", &S::stack_synchronization_cycles),
        added("fuses_no_operations", &S::fuses_no_operations), added("vector_load_cycles", &S::vector_load_cycles),
        added("plain_index_costs_nothing", &S::plain_index_costs_nothing),
        added("load_bytes", &S::load_bytes).at_least(0),
        added("memory_vector_bytes", &S::memory_vector_bytes).at_least(0),
        optional("llvm_cpu_by_id", &S::llvm_cpu_by_id), optional("slot_width_by_id", &S::slot_width_by_id));
    static void check(const Node& node, S& core) {
        for (const auto& history : {core.target_history, core.direction_history, core.conditional_history}) {
            if (history.size() > S::most_histories) node.complain("has a history for more than 8 tables");
            for (const unsigned branches : history)
                if (branches == 0 || branches > S::longest_history)
                    node.complain("has a history of 0 or of more than 511 branches");
            if (!history.empty() && core.history_bits + core.history_target_bits == 0)
                node.complain("has a history of nothing");
        }
        if (core.foretelling.quick_length > core.direction_history.size())
            node.complain("has a first level of directions that looks back as none of its tables does");
        if (!core.conditional_history.empty() && (core.conditional_history.size() != core.target_history.size() ||
                                                  core.conditional_history.size() != core.direction_history.size()))
            node.complain("has a 'conditional_history' of other tables than its other histories");
        if (core.history_bits + core.history_target_bits > 32) node.complain("has a history of more than 32 bits each");
        for (const auto& [id, width] : core.slot_width_by_id)
            if (width == 0) node.complain("has a 'slot_width_by_id' of 0");
    }
};

template <>
struct Description<CpuGeometry> {
    using S = CpuGeometry;
    static constexpr auto fields = std::make_tuple(
        optional("core", &S::core), optional("caches", &S::caches), optional("tlbs", &S::tlbs),
        added("translation", &S::translation), added("prefetchers", &S::prefetchers), added("memory", &S::memory),
        optional("known_wrong", &S::known_wrong), optional("corrections", &S::corrections),
        optional("further_corrections", &S::further_corrections), added("frequency_hz", &S::frequency_hz));
    static void check(const Node& node, S& cpu) {
        if (!(cpu.frequency_hz > 0)) node.complain("has a 'frequency_hz' that is not above 0");
        cpu.corrections.insert(cpu.corrections.end(), cpu.further_corrections.begin(), cpu.further_corrections.end());
        cpu.further_corrections.clear();
    }
};

template <>
struct Description<CpuidDescriptor> {
    using S = CpuidDescriptor;
    static constexpr auto fields = std::make_tuple(optional("caches", &S::caches), optional("tlbs", &S::tlbs));
};

template <>
struct Description<CpuidDescriptors> {
    static constexpr auto fields = std::make_tuple(field("descriptors", &CpuidDescriptors::descriptors));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<CpuGeometry> parse_cpu_geometry(std::string_view text, std::string_view name) {
    return json::read_text<CpuGeometry>(text, name);
}

Result<CpuGeometry> read_cpu_geometry(const Library& library, const std::string& folder) {
    const auto text = TRY(read_core_data(library, folder, "geometry.json"));
    return parse_cpu_geometry(text, folder + "/geometry.json");
}

Result<std::map<std::string, CpuidDescriptor>> parse_cpuid_descriptors(std::string_view text, std::string_view name) {
    auto read = TRY(json::read_text<CpuidDescriptors>(text, name));
    return std::move(read.descriptors);
}

}  // namespace tmaprobe::events
