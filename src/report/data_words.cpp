#include "report/data_words.h"

#include <fmt/format.h>

#include "base/sizes.h"
#include "report/where.h"

namespace tmaprobe::report {
namespace {

using record::DataKind;
using record::DataPlace;

std::string size_text(std::uint64_t bytes) { return bytes ? ", " + format_size(bytes) : ""; }

std::string allocator_text(const DataPlace& place) {
    return place.allocated_by.empty() ? "calls that are not known" : function_text(place.allocated_by.front());
}

}  // namespace

std::string function_text(const record::AllocatingFunction& function) {
    std::string text = function.function;
    if (text.empty()) text = fmt::format("{}+{:#x}", base_name(function.module), function.address);
    return function.line ? fmt::format("{} ({}:{})", text, base_name(function.file), function.line) : text;
}

std::string blocks_text(const DataPlace& place) {
    std::string text = fmt::format("{} in {} {} from {}", format_size(place.bytes), place.blocks,
                                   place.blocks == 1 ? "block" : "blocks", allocator_text(place));
    for (std::size_t i = 1; i < place.allocated_by.size(); ++i) text += " < " + function_text(place.allocated_by[i]);
    return text;
}

std::string data_text(const DataPlace& place) {
    switch (place.kind) {
        case DataKind::variable:
            return place.name +
                   (place.line ? fmt::format(" ({}:{}", base_name(place.file), place.line)
                               : " (" + base_name(place.path)) +
                   size_text(place.bytes) + ")";
        case DataKind::file:
            return base_name(place.path) + " in memory";
        case DataKind::heap:
            return "heap" + size_text(place.bytes);
        case DataKind::stack:
            return "stack" + size_text(place.bytes);
        case DataKind::anonymous:
            return (place.path.empty() ? "anonymous" : place.path) + size_text(place.bytes) +
                   fmt::format(" at {:#x}", place.address);
        case DataKind::blocks:
            return fmt::format("{} from {}", place.blocks == 1 ? "block" : "blocks", allocator_text(place)) +
                   size_text(place.bytes);
        case DataKind::unknown:
            break;
    }
    return "address not known";
}

std::string code_text(const DataPlace& place) {
    if (place.code_line) return fmt::format(", at {}:{}", base_name(place.code_file), place.code_line);
    return place.function.empty() ? "" : ", in " + place.function;
}

}  // namespace tmaprobe::report
