// Looks for words in a text by the Boyer-Moore-Horspool algorithm.
#include <string>

#include "common.h"

static std::uint64_t count(const std::string& text, const std::string& word) {
    std::size_t skip[256];
    for (auto& s : skip) s = word.size();
    for (std::size_t i = 0; i + 1 < word.size(); ++i) skip[static_cast<unsigned char>(word[i])] = word.size() - 1 - i;
    std::uint64_t found = 0;
    for (std::size_t at = 0; at + word.size() <= text.size();) {
        std::size_t i = word.size();
        while (i > 0 && text[at + i - 1] == word[i - 1]) --i;
        found += i == 0;
        at += skip[static_cast<unsigned char>(text[at + word.size() - 1])];
    }
    return found;
}

int main() {
    std::uint64_t state = 1, sum = 0;
    std::string text(6000000, 'a');
    for (auto& c : text) c = static_cast<char>('a' + next_random(state) % 12);
    for (int i = 0; i < 40; ++i) sum += count(text, text.substr(next_random(state) % 5000000, 4 + i % 5));
    return answer(sum);
}
