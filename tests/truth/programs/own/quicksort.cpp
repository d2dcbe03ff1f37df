// Sorts random numbers with a quicksort of its own: branches that nobody can foretell.
#include <utility>
#include <vector>

#include "common.h"

static void sort(std::uint32_t* first, std::uint32_t* last) {
    while (last - first > 1) {
        const std::uint32_t pivot = first[(last - first) / 2];
        std::uint32_t *i = first, *j = last - 1;
        while (i <= j) {
            while (*i < pivot) ++i;
            while (*j > pivot) --j;
            if (i <= j) std::swap(*i++, *j--);
        }
        sort(first, j + 1);
        first = i;
    }
}

int main() {
    std::uint64_t state = 1;
    std::vector<std::uint32_t> values(4000000);
    for (auto& value : values) value = static_cast<std::uint32_t>(next_random(state));
    sort(values.data(), values.data() + values.size());
    return answer(values[values.size() / 2]);
}
