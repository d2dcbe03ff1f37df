#include "report/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/utf8.h"

namespace tmaprobe::report {
namespace {

/// The next code point of valid UTF-8 at `at`, which is moved behind it.
char32_t next_code_point(std::string_view text, std::size_t& at) {
    const auto first = static_cast<std::uint8_t>(text[at++]);
    if (first < 0x80) return first;
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    char32_t point = first & (0x3f >> more);
    for (int i = 0; i < more; ++i) point = point << 6 | (static_cast<std::uint8_t>(text[at++]) & 0x3f);
    return point;
}

/// Line and paragraph separators, and all that changes the direction of writing or has no width.
bool is_invisible(char32_t point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x200b && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
}

bool is_wide(char32_t point) {
    return (point >= 0x1100 && point <= 0x115f) || (point >= 0x2e80 && point <= 0xa4cf) ||
           (point >= 0xac00 && point <= 0xd7a3) || (point >= 0xf900 && point <= 0xfaff) ||
           (point >= 0xfe30 && point <= 0xfe6f) || (point >= 0xff00 && point <= 0xff60) ||
           (point >= 0x1f300 && point <= 0x1faff) || (point >= 0x20000 && point <= 0x3fffd);
}

/// Behind the escape sequence that begins at `at` (ECMA-48: CSI, OSC and its kin, or two characters), which may
/// have characters of several bytes in it: none is cut in two.
std::size_t behind_escape(std::string_view text, std::size_t at) {
    ++at;
    if (at >= text.size()) return at;
    const char32_t kind = next_code_point(text, at);
    if (kind == '[') {
        while (at < text.size() && (text[at] < 0x40 || text[at] > 0x7e)) ++at;
        return std::min(at + 1, text.size());
    }
    if (kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X') {
        while (at < text.size() && text[at] != '\a' && text[at] != '\x1b') ++at;
        if (at < text.size() && text[at] == '\x1b') ++at;
        if (at < text.size()) next_code_point(text, at);
        return at;
    }
    return at;
}

}  // namespace

std::string clean(std::string_view given, bool ascii) {
    const std::string text = valid_utf8(given);
    std::string safe;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '\x1b') {
            at = behind_escape(text, at);
            continue;
        }
        const std::size_t start = at;
        const char32_t point = next_code_point(text, at);
        if (point == '\n' || point == '\t' || point == '\r')
            safe += ' ';
        else if (ascii && point > 0x7e)
            safe += '?';
        else if (!is_invisible(point))
            safe.append(text, start, at - start);
    }
    return safe;
}

std::string capitalised(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

std::size_t width_of(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t at = 0; at < text.size();) width += is_wide(next_code_point(text, at)) ? 2 : 1;
    return width;
}

std::string pad_right(std::string text, std::size_t width) {
    const std::size_t has = width_of(text);
    if (has < width) text.append(width - has, ' ');
    return text;
}

std::string pad_left(std::string text, std::size_t width) {
    const std::size_t has = width_of(text);
    return has < width ? std::string(width - has, ' ') + text : text;
}

std::string shorten(const std::string& text, std::size_t width, bool ascii) {
    if (width_of(text) <= width) return text;
    const std::string dots = ascii ? ".." : "…";
    const std::size_t left = width > width_of(dots) ? width - width_of(dots) : 0;
    std::size_t head_end = 0, tail_start = text.size(), before = 0, total = width_of(text);
    for (std::size_t at = 0; at < text.size();) {
        if (before <= (left + 1) / 2) head_end = at;
        if (total - before <= left / 2) {
            tail_start = at;
            break;
        }
        before += is_wide(next_code_point(text, at)) ? 2 : 1;
    }
    return text.substr(0, head_end) + dots + text.substr(tail_start);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    std::string line;
    while (!text.empty()) {
        const auto end = text.find(' ');
        const std::string word(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (word.empty()) continue;
        if (!line.empty() && width_of(line) + 1 + width_of(word) > width) {
            lines.push_back(std::move(line));
            line.clear();
        }
        if (!line.empty()) line += ' ';
        line += word;
    }
    if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
    return lines;
}

std::string bar(double fraction, std::size_t width, bool ascii) {
    if (!std::isfinite(fraction) || fraction <= 0 || width == 0) return {};
    const double filled = std::min(fraction, 1.0) * static_cast<double>(width);
    if (ascii) {
        const auto whole = static_cast<std::size_t>(std::lround(filled));
        return whole ? std::string(whole, '#') : ".";
    }
    static constexpr std::array<const char*, 8> parts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = std::max(1L, std::lround(filled * 8));
    std::string drawn;
    for (long i = 0; i < eighths / 8; ++i) drawn += "█";
    return drawn + parts[static_cast<std::size_t>(eighths % 8)];
}

std::string escaped_html(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
    return out;
}

}  // namespace tmaprobe::report
