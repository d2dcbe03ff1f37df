#include "report/data_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/sizes.h"
#include "report/where.h"

namespace tmaprobe::report {
namespace {

using record::DataKind;
using record::DataPlace;

/// Rounded, for a sentence: "8.5M".
std::string about(std::uint64_t bytes) {
    constexpr double step = 1024, worth_tenths = 10;
    double size = static_cast<double>(bytes);
    std::size_t unit = 0;
    constexpr std::string_view units = " KMGT";
    while (size >= step && unit + 1 < units.size()) size /= step, ++unit;
    if (unit == 0) return fmt::format("{} bytes", bytes);
    const bool is_whole = size == static_cast<double>(static_cast<std::uint64_t>(size));
    return fmt::format("{:.{}f}{}", size, size < worth_tenths && !is_whole ? 1 : 0, units[unit]);
}

std::string size_text(std::uint64_t bytes) { return bytes ? ", " + format_size(bytes) : ""; }

/// Of the library of C++ or Rust: a program's own code called it.
bool is_of_library(const record::AllocatingFunction& function) {
    constexpr std::string_view spaces[] = {"std::", "__gnu_cxx::", "alloc::", "core::", "hashbrown::"};
    const std::string name = without_arguments(function.function);
    return std::ranges::any_of(spaces, [&](std::string_view space) { return name.starts_with(space); });
}

/// The innermost of the program's own; the first where there is none.
std::size_t first_own(const DataPlace& place) {
    const auto own = std::ranges::find_if_not(place.allocated_by, is_of_library);
    return own == place.allocated_by.end() ? 0 : static_cast<std::size_t>(own - place.allocated_by.begin());
}

std::string allocator_text(const DataPlace& place) {
    return place.allocated_by.empty() ? "calls that are not known"
                                      : function_text(place.allocated_by[first_own(place)]);
}

}  // namespace

std::string without_arguments(const std::string& function) {
    constexpr std::string_view whole[] = {"(anonymous namespace)",
                                          "operator()",
                                          "operator<<",
                                          "operator<=",
                                          "operator<",
                                          "operator>>",
                                          "operator>=",
                                          "operator->",
                                          "operator>"};
    std::string text;
    int depth = 0;
    bool behind_parameters = false;
    for (std::size_t i = 0; i < function.size(); ++i) {
        const std::string_view rest = std::string_view(function).substr(i);
        const auto one = std::ranges::find_if(whole, [&](std::string_view word) { return rest.starts_with(word); });
        if (depth == 0 && one != std::end(whole)) {
            text += *one;
            i += one->size() - 1;
            continue;
        }
        const char letter = function[i];
        if (letter == '<' || letter == '(') ++depth;
        if (depth > 0) {
            if (letter == '>' || letter == ')') --depth;
            behind_parameters = depth == 0 && letter == ')';
            continue;
        }
        if (letter == ' ' && behind_parameters) {  // "const", and then perhaps what is in that function
            const std::size_t inner = function.find("::", i);
            if (inner == std::string::npos) break;
            i = inner - 1;
        } else if (letter == ' ' && text.find("operator") == std::string::npos) {
            text.clear();  // what a template returns stands before its name
        } else {
            text += letter;
        }
        behind_parameters = false;
    }
    return text;
}

std::string function_text(const record::AllocatingFunction& function) {
    std::string text = without_arguments(function.function);
    if (text.empty()) text = function.function;
    if (text.empty()) text = fmt::format("{}+{:#x}", base_name(function.module), function.address);
    return function.line ? fmt::format("{} ({}:{})", text, base_name(function.file), function.line) : text;
}

std::string blocks_text(const DataPlace& place) {
    constexpr std::size_t most_named = 5;
    const std::size_t first = first_own(place);
    const auto& functions = place.allocated_by;
    std::string text = fmt::format("{} in {} {} from {}", about(place.bytes), place.blocks,
                                   place.blocks == 1 ? "block" : "blocks", allocator_text(place));
    if (first > 0) text += fmt::format(" by {}", without_arguments(functions[first - 1].function));
    for (std::size_t i = first + 1; i < functions.size(); ++i) {
        if (i < first + most_named || i + 1 == functions.size())
            text += " < " + function_text(functions[i]);
        else if (i == first + most_named)
            text += fmt::format(" < {} more", functions.size() - 1 - i);
    }
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
            return fmt::format("{} of {}, {}", place.blocks == 1 ? "block" : "blocks", allocator_text(place),
                               about(place.bytes));
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
