#include "base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tmaprobe {
namespace {

/// Levenshtein distance in single-character edits.
std::size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t substitute = diagonal + (from[i - 1] != to[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
        }
    }
    return row[to.size()];
}

}  // namespace

std::string suggest(std::string_view given, const std::vector<std::string>& candidates) {
    const std::string* nearest = nullptr;
    std::size_t best = std::max<std::size_t>(2, given.size() / 3) + 1;
    for (const auto& candidate : candidates) {
        const auto [shorter, longer] = std::minmax({given.size(), candidate.size()});  // by value: a list
        if (longer - shorter >= best) continue;                                        // no fewer edits than that
        const std::size_t distance = edit_distance(given, candidate);
        if (distance < best) {
            best = distance;
            nearest = &candidate;
        }
    }
    if (nearest) return fmt::format("did you mean '{}'?", *nearest);
    constexpr std::size_t short_list = 12;
    if (candidates.empty() || candidates.size() > short_list) return {};
    return fmt::format("one of: {}", fmt::join(candidates, ", "));
}

}  // namespace tmaprobe
