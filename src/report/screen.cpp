#include "report/screen.h"

#include <fmt/format.h>

#include <algorithm>

namespace tmaprobe::report {

std::string Screen::ink(Ink ink, const std::string& text) const {
    if (!style_.colour || ink == Ink::plain || text.empty()) return text;
    const char* code = "0";
    switch (ink) {
        case Ink::plain:
            break;
        case Ink::bold:
            code = "1";
            break;
        case Ink::dim:
            code = "2";
            break;
        case Ink::green:
            code = "32";
            break;
        case Ink::yellow:
            code = "33";
            break;
        case Ink::red:
            code = "31";
            break;
    }
    return std::string("\x1b[") + code + "m" + text + "\x1b[0m";
}

Ink Screen::heat(double share) {
    if (share >= 0.4) return Ink::red;
    if (share >= 0.15) return Ink::yellow;
    return Ink::green;
}

void Screen::line(const std::string& text) {
    const auto end = text.find_last_not_of(' ');
    text_ += end == std::string::npos ? "" : text.substr(0, end + 1);
    text_ += '\n';
}

void Screen::entry(const std::string& label, std::string_view text, std::size_t indent) {
    std::string start = pad_right(label, indent);
    for (const auto& part : wrap(say(text), width() > indent + 10 ? width() - indent : 10)) {
        line(start + part);
        start.assign(indent, ' ');
    }
}

void Screen::table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(1);
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::size_t others = 0, widest = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) {
        others += widths[i] + 2;
        widest = std::max(widest, widths[i] + 2);
    }
    // The names give way first; where that is not enough, columns move to a block below.
    constexpr std::size_t least = 12;  // of a name: what can still be told apart
    if (widths[0] + others > width()) {
        const std::size_t beside = others + least <= width() ? others : widest;
        const std::size_t most = beside == others ? width() : width() / 2;
        widths[0] = std::min({widths[0], most, std::max(least, width() - std::min(width(), beside))});
    }
    for (std::size_t i = 1; i < widths.size(); ++i)
        widths[i] = std::min(widths[i], width() - std::min(width(), widths[0] + 2));
    for (std::size_t begin = 1; begin <= std::max<std::size_t>(1, widths.size() - 1);) {
        std::size_t end = begin;
        for (std::size_t used = widths[0]; end < widths.size() && (used += 2 + widths[end]) <= width();) ++end;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const auto cell = [&](std::size_t i) {
                return i < rows[r].size() ? shorten(rows[r][i], widths[i], ascii()) : std::string();
            };
            std::string text = pad_right(cell(0), widths[0]);
            for (std::size_t i = begin; i < end; ++i) text += "  " + pad_left(cell(i), widths[i]);
            line(r == 0 ? ink(Ink::dim, text) : text);
        }
        begin = std::max(end, begin + 1);
    }
}

std::string Footnotes::mark(const std::string& reason) {
    if (reason.empty()) return {};
    auto at = std::find(reasons_.begin(), reasons_.end(), reason);
    if (at == reasons_.end()) at = reasons_.insert(reasons_.end(), reason);
    return fmt::format(" [{}]", at - reasons_.begin() + 1);
}

void Footnotes::show(Screen& screen) const {
    for (std::size_t i = 0; i < reasons_.size(); ++i) screen.entry(fmt::format("  [{}]", i + 1), reasons_[i], 7);
}

}  // namespace tmaprobe::report
