#include "report/markdown_text.h"

#include "report/text.h"

namespace tmaprobe::report {

std::string markdown_text(const std::string& text) {
    std::string escaped;
    for (const char c : clean(text)) {
        if (std::string("\\`*_{}[]()#+!|~<>&").find(c) != std::string::npos) {
            if (c == '<')
                escaped += "&lt;";
            else if (c == '>')
                escaped += "&gt;";
            else if (c == '&')
                escaped += "&amp;";
            else
                escaped += std::string("\\") + c;
        } else {
            escaped += c;
        }
    }
    return escaped;
}

std::string markdown_code(const std::string& text) {
    const std::string plain = clean(text);
    return plain.find_first_of("`|<>") == std::string::npos ? "`" + plain + "`" : markdown_text(text);
}

std::string markdown_row(const std::vector<std::string>& cells) {
    std::string line = "|";
    for (const auto& cell : cells) line += " " + cell + " |";
    return line + "\n";
}

std::string markdown_heading(const std::vector<std::string>& cells) {
    std::string line = markdown_row(cells) + "|";
    for (std::size_t i = 0; i < cells.size(); ++i) line += i ? " ---: |" : " --- |";
    return line + "\n";
}

}  // namespace tmaprobe::report
