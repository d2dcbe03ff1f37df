#include "judge/moved_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tmaprobe::judge {
namespace {

struct Span {
    double share = 0, low = 0, high = 0;
};

std::map<std::string, Span> spans_of(const record::Where& where) {
    std::map<std::string, Span> spans;
    for (const auto& line : where.lines) {
        if (line.first_line == 0) continue;
        const std::string file = line.file.substr(line.file.rfind('/') + 1);
        // One line may be inlined in many places: their bounds add up to bounds of all.
        Span& span = spans[fmt::format("{}:{} in {}", file, line.first_line, line.function)];
        span.share += line.share;
        span.low += line.low;
        span.high += line.high;
    }
    return spans;
}

}  // namespace

std::vector<std::string> moved_lines(const record::Where& before, const record::Where& after) {
    constexpr double worth_a_sentence = 0.01;
    constexpr std::size_t most = 5;
    auto spans = spans_of(before);
    const auto now = spans_of(after);
    for (const auto& [name, span] : now) spans.try_emplace(name);
    struct Move {
        std::string name;
        double from = 0, to = 0;
    };
    std::vector<Move> moves;
    for (const auto& [name, then] : spans) {
        const auto found = now.find(name);
        const Span is = found == now.end() ? Span{} : found->second;
        const bool apart = is.low > then.high || is.high < then.low;
        if (apart && std::abs(is.share - then.share) >= worth_a_sentence) moves.push_back({name, then.share, is.share});
    }
    std::ranges::stable_sort(moves, [](const Move& one, const Move& other) {
        return std::abs(one.to - one.from) > std::abs(other.to - other.from);
    });
    std::vector<std::string> sentences;
    for (const Move& move : moves) {
        if (sentences.size() == most) break;
        sentences.push_back(
            fmt::format("{}: {:.1f}% of slots before, {:.1f}% after.", move.name, 100 * move.from, 100 * move.to));
    }
    return sentences;
}

}  // namespace tmaprobe::judge
