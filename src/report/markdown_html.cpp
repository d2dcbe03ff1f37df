#include "report/markdown_html.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace tmaprobe::report {
namespace {

/// The words of a line: escapes, code and bold text.
std::string inline_html(std::string_view text) {
    std::string html;
    bool code = false, bold = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '`') {
            code = !code;
            html += code ? "<code>" : "</code>";
        } else if (code) {
            html += c == '&' ? "&amp;" : std::string(1, c);
        } else if (c == '\\' && i + 1 < text.size()) {
            html += text[++i];
        } else if (text.substr(i).starts_with("**")) {
            bold = !bold;
            html += bold ? "<strong>" : "</strong>";
            ++i;
        } else {
            html += c;
        }
    }
    if (code) html += "</code>";
    if (bold) html += "</strong>";
    return html;
}

/// The cells of a row; a bar that is escaped divides none.
std::vector<std::string> cells_of(std::string_view row) {
    std::vector<std::string> cells;
    std::string cell;
    for (std::size_t i = 1; i < row.size(); ++i) {
        if (row[i] == '\\' && i + 1 < row.size()) {
            cell += row[i];
            cell += row[++i];
        } else if (row[i] == '|') {
            const auto first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
            cells.push_back(first == cell.npos ? "" : cell.substr(first, last - first + 1));
            cell.clear();
        } else {
            cell += row[i];
        }
    }
    return cells;
}

/// Lines one after the other, and what is open between them.
class Page {
  public:
    void line(std::string_view text) {
        if (text.starts_with('|')) return row(text);
        if (text.starts_with("- ")) return item(text.substr(2));
        close();
        if (text.empty()) return;
        const auto hashes = text.find_first_not_of('#');
        if (hashes > 0 && hashes <= 3 && text.substr(hashes).starts_with(' ')) {
            const std::string tag = "h" + std::to_string(hashes);
            html_ += "<" + tag + ">" + inline_html(text.substr(hashes + 1)) + "</" + tag + ">\n";
        } else if (text.starts_with("> ")) {
            html_ += "<p class=\"warning\">" + inline_html(text.substr(2)) + "</p>\n";
        } else {
            html_ += "<p>" + inline_html(text) + "</p>\n";
        }
    }
    std::string take() {
        close();
        return std::move(html_);
    }

  private:
    enum class Open { nothing, heading, table, list };

    void row(std::string_view text) {
        if (open_ == Open::heading && text.starts_with("| ---")) {
            open_ = Open::table;
            return;
        }
        const bool heading = open_ != Open::table;
        if (heading) {
            close();
            html_ += "<div class=\"scroll\"><table>\n";
            open_ = Open::heading;
        }
        html_ += "<tr>";
        for (const auto& cell : cells_of(text))
            html_ += (heading ? "<th scope=\"col\">" : "<td>") + inline_html(cell) + (heading ? "</th>" : "</td>");
        html_ += "</tr>\n";
    }
    void item(std::string_view text) {
        if (open_ != Open::list) {
            close();
            html_ += "<ul>\n";
            open_ = Open::list;
        }
        html_ += "<li>" + inline_html(text) + "</li>\n";
    }
    void close() {
        if (open_ == Open::table || open_ == Open::heading) html_ += "</table></div>\n";
        if (open_ == Open::list) html_ += "</ul>\n";
        open_ = Open::nothing;
    }

    std::string html_;
    Open open_ = Open::nothing;
};

}  // namespace

std::string markdown_html(const std::string& markdown) {
    Page page;
    for (std::size_t at = 0; at < markdown.size();) {
        const auto end = std::min(markdown.find('\n', at), markdown.size());
        page.line(std::string_view(markdown).substr(at, end - at));
        at = end + 1;
    }
    return page.take();
}

}  // namespace tmaprobe::report
