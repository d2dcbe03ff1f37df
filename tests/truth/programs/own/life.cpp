// Conway's game on bytes, with a table of the rule.
#include <vector>

#include "common.h"

int main() {
    const int n = 1024;
    std::uint64_t state = 1, alive = 0;
    std::vector<std::uint8_t> a(n * n), b(n * n);
    for (auto& cell : a) cell = next_random(state) % 3 == 0;
    for (int round = 0; round < 150; ++round) {
        for (int y = 1; y < n - 1; ++y)
            for (int x = 1; x < n - 1; ++x) {
                int around = 0;
                for (int dy = -n; dy <= n; dy += n)
                    around += a[y * n + x + dy - 1] + a[y * n + x + dy] + a[y * n + x + dy + 1];
                const int own = a[y * n + x];
                around -= own;
                b[y * n + x] = static_cast<std::uint8_t>(around == 3 || (own && around == 2));
            }
        a.swap(b);
    }
    for (const auto cell : a) alive += cell;
    return answer(alive);
}
