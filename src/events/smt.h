#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/result.h"

namespace tmaprobe::events {

struct Library;

/// A part of a core that hyperthreads have between them.
enum class SmtStructure : std::uint8_t {
    slots,  ///< cycles of fetch, decoding, renaming and retirement
    micro_op_queue,
    op_cache,
    reorder_buffer,
    load_buffer,
    store_buffer,
    schedulers,
    registers,
    l1_data,
    l1_code,
    l2,
    tlbs,
    outstanding_misses,
    memory_bandwidth,
};

/// What a busy sibling takes half of, of the cores in some folders, from events/smt.json.
struct SmtSharing {
    std::vector<std::string> folders;
    std::vector<SmtStructure> partitioned;  ///< half each, however much the other uses
    std::vector<SmtStructure> shared;       ///< what the other leaves
};

/// Nothing for a core that has no hyperthreads, as far as is known. Errors: bad_input for a broken file.
Result<std::optional<SmtSharing>> read_smt_sharing(const Library& library, const std::string& folder);

/// All of it, of a core that has hyperthreads. Errors: besides those, bad_usage for one that has none.
Result<std::vector<SmtStructure>> taken_by_sibling(const Library& library, const std::string& folder);

}  // namespace tmaprobe::events

namespace tmaprobe {

template <>
struct Names<events::SmtStructure> {
    using enum events::SmtStructure;
    static constexpr std::pair<events::SmtStructure, std::string_view> values[] = {
        {slots, "slots"},
        {micro_op_queue, "micro_op_queue"},
        {op_cache, "op_cache"},
        {reorder_buffer, "reorder_buffer"},
        {load_buffer, "load_buffer"},
        {store_buffer, "store_buffer"},
        {schedulers, "schedulers"},
        {registers, "registers"},
        {l1_data, "l1_data"},
        {l1_code, "l1_code"},
        {l2, "l2"},
        {tlbs, "tlbs"},
        {outstanding_misses, "outstanding_misses"},
        {memory_bandwidth, "memory_bandwidth"}};
};

}  // namespace tmaprobe
