#include "base/shell.h"

#include <string_view>

namespace tmaprobe {

std::string shell_quoted(const std::vector<std::string>& words) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
    std::string line;
    for (const std::string& word : words) {
        if (!line.empty()) line += ' ';
        if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

std::vector<std::string> shell_words(const std::string& line) {
    std::vector<std::string> words;
    bool quoted = false, in_word = false;
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (!quoted && line[at] == ' ') {
            in_word = false;
            continue;
        }
        if (!in_word) words.emplace_back();
        in_word = true;
        if (line[at] == '\'')
            quoted = !quoted;
        else if (!quoted && line[at] == '\\' && at + 1 < line.size())
            words.back() += line[++at];
        else
            words.back() += line[at];
    }
    return words;
}

}  // namespace tmaprobe
