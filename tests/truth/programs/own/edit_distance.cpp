// Distance of two texts by the table of Levenshtein.
#include <algorithm>
#include <string>
#include <vector>

#include "common.h"

int main() {
    std::uint64_t state = 1;
    std::string a(14000, 'a'), b(14000, 'a');
    for (auto& c : a) c = static_cast<char>('a' + next_random(state) % 4);
    for (auto& c : b) c = static_cast<char>('a' + next_random(state) % 4);
    std::vector<int> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        int corner = row[0];
        row[0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const int above = row[j];
            row[j] = std::min({row[j - 1] + 1, above + 1, corner + (a[i - 1] != b[j - 1])});
            corner = above;
        }
    }
    return answer(static_cast<std::uint64_t>(row.back()));
}
