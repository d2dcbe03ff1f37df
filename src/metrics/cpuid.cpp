#include "metrics/cpuid.h"

#include <regex.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

namespace tmaprobe::metrics {
namespace {

std::optional<std::uint64_t> parse_midr(std::string_view text) {
    if (!is_midr(text)) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool midr_matches(std::uint64_t pattern, std::uint64_t cpu) {
    constexpr std::uint64_t variant_mask = 0xf00000, revision_mask = 0xf;
    constexpr std::uint64_t identity = ~(variant_mask | revision_mask);
    if ((pattern & identity) != (cpu & identity)) return false;
    const auto version = [](std::uint64_t midr) { return (midr & variant_mask) | (midr & revision_mask); };
    return version(cpu) >= version(pattern);
}

/// vendor-family-model-stepping has three dashes; those of a range such as [0-9] do not count.
bool has_stepping(std::string_view id) {
    int dashes = 0;
    int brackets = 0;
    for (const char c : id) {
        if (c == '[')
            ++brackets;
        else if (c == ']')
            --brackets;
        else if (c == '-' && brackets <= 0)
            ++dashes;
    }
    return dashes == 3;
}

/// Patterns of a mapfile share long literal beginnings; comparing those first spares nearly all of the
/// compilations, which would otherwise be most of the time to load a table.
bool beginning_differs(std::string_view pattern, std::string_view id) {
    if (pattern.starts_with('^')) pattern.remove_prefix(1);
    if (pattern.find('|') != pattern.npos && pattern.find('(') == pattern.npos) return false;
    const std::size_t special = std::min(pattern.find_first_of("[](){}.*+?|\\^$"), pattern.size());
    // A repeated character may be absent.
    const bool repeated =
        special < pattern.size() && std::string_view("*?{").find(pattern[special]) != std::string_view::npos;
    const std::size_t literal = repeated && special > 0 ? special - 1 : special;
    return id.substr(0, literal) != pattern.substr(0, literal);
}

}  // namespace

bool is_midr(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdefABCDEF";
    return text.size() > 2 && text.size() <= 18 && text.starts_with("0x") &&
           text.find_first_not_of(digits, 2) == std::string_view::npos;
}

bool is_cpuid_pattern(const std::string& text) {
    if (is_midr(text)) return true;
    regex_t compiled;
    if (text.empty() || regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
    regfree(&compiled);
    return true;
}

bool cpuid_matches(std::string_view pattern, std::string_view cpu_id) {
    if (const auto midr = parse_midr(pattern)) {
        const auto cpu = parse_midr(cpu_id);
        return cpu && midr_matches(*midr, *cpu);
    }
    if (pattern.empty() || has_stepping(pattern) > has_stepping(cpu_id)) return false;
    if (beginning_differs(pattern, cpu_id)) return false;

    regex_t compiled;
    const std::string pattern_text(pattern), id(cpu_id);
    if (regcomp(&compiled, pattern_text.c_str(), REG_EXTENDED) != 0) return false;
    regmatch_t match{};
    const bool found = regexec(&compiled, id.c_str(), 1, &match, 0) == 0;
    regfree(&compiled);
    if (!found || match.rm_so != 0) return false;
    const std::size_t wanted = has_stepping(cpu_id) && !has_stepping(pattern) ? cpu_id.rfind('-') : cpu_id.size();
    return static_cast<std::size_t>(match.rm_eo) == wanted;
}

}  // namespace tmaprobe::metrics
